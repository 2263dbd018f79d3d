import { InvalidArgumentError } from 'commander'

const BYTES: Readonly<Record<string, number>> = {
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
}
const MS: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1e3, m: 60e3, h: 3_600e3, d: 86_400e3 }

/** `1500`, `0.5` or `1_000`: no other way to write a number means the same everywhere. */
const NUMBER = String.raw`\d{1,9}(?:_\d{3})*(?:\.\d{1,6})?`

function parsed(text: string, units: Readonly<Record<string, number>>, expected: string): number {
  const [, digits = '', unit = ''] = new RegExp(String.raw`^(${NUMBER}) ?([a-z%]*)$`).exec(text.toLowerCase()) ?? []
  const factor = Object.hasOwn(units, unit) ? units[unit] : undefined
  if (digits === '' || factor === undefined) throw new InvalidArgumentError(expected)
  return Number(digits.replaceAll('_', '')) * factor
}

export function parseRate(text: string): number {
  const expected = 'Expected messages a second, more than 0, such as 500 or 0.5.'
  const rate = parsed(text, { '': 1 }, expected)
  if (rate > 0) return rate
  throw new InvalidArgumentError(expected)
}

/** `20%`: a part of 1. */
export function parseShare(text: string): number {
  const expected = 'Expected a percentage from 0% to less than 100%, such as 20%.'
  const percent = parsed(text, { '%': 1 }, expected)
  if (percent < 100) return percent / 100
  throw new InvalidArgumentError(expected)
}

export function parseBytes(text: string): number {
  const expected = 'Expected a size with its unit, more than 0, such as 512B, 1KB or 64GB.'
  const bytes = parsed(text, BYTES, expected)
  if (bytes > 0) return bytes
  throw new InvalidArgumentError(expected)
}

/** In milliseconds. */
export function parseSpan(text: string): number {
  return parsed(text, MS, 'Expected a time with its unit (us, ms, s, m, h, d), such as 20ms.')
}

export function parseRetention(text: string): number {
  const ms = parseSpan(text)
  if (ms >= 1_000) return ms
  throw new InvalidArgumentError('Expected at least a second, such as 12h or 7d.')
}

/** `483.8 million`, `1,000`, `0.25`. */
export function countText(count: number): string {
  if (count >= 1e9) return `${rounded(count / 1e9, 1)} billion`
  if (count >= 1e6) return `${rounded(count / 1e6, 1)} million`
  return Number.isInteger(count) || count >= 1_000 ? rounded(count, 0) : rounded(count, count < 10 ? 2 : 1)
}

export function bytesText(bytes: number): string {
  const [unit, size] = SIZES.find(([, one]) => bytes >= one) ?? ['B', 1]
  return `${rounded(bytes / size, unit === 'B' ? 0 : 1)} ${unit}`
}

export function percentText(share: number): string {
  return `${countText(Math.round(share * 1e4) / 100)} %`
}

const SIZES = [
  ['TB', 1e12],
  ['GB', 1e9],
  ['MB', 1e6],
  ['KB', 1e3],
] as const

function rounded(value: number, most: number): string {
  return value.toLocaleString('en-US', { minimumFractionDigits: most === 1 ? 1 : 0, maximumFractionDigits: most })
}

import { readFileSync } from 'node:fs'
import { InvalidArgumentError } from 'commander'
import { CommandError, EXIT } from './exit.ts'

export function parsePositive(text: string): number {
  const number = Number(text)
  if (/^\d{1,9}$/.test(text) && number > 0) return number
  throw new InvalidArgumentError('Expected a whole number from 1.')
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `2026-11-01T00:00Z`, with its time zone, or how long ago: `90m`, `24h`, `7d`. */
export function parseTime(text: string): number {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  if (count !== undefined) return Date.now() - Number(count) * (UNIT_MS[unit] ?? 0)
  const [, day = ''] = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d.*(?:Z|[+-]\d\d:?\d\d)$/.exec(text) ?? []
  const at = Date.parse(day === '' ? '' : text)
  // JavaScript takes 30 February for 2 March.
  const midnight = Date.parse(`${day}T00:00Z`)
  if (Number.isNaN(at) || !new Date(midnight).toISOString().startsWith(day)) {
    throw new InvalidArgumentError(
      'Expected a time with its zone, such as 2026-11-01T00:00Z, or how long ago, such as 24h.',
    )
  }
  return at
}

/** Every option that takes names: `a,b`, `a b` and the option given again mean the same. */
export function parseList(text: string, before: readonly string[] = []): readonly string[] {
  const names = text.split(',').map((name) => name.trim())
  if (names.includes('')) throw new InvalidArgumentError('Expected names, with a comma or a blank between them.')
  return [...before, ...names]
}

const STDIN = 0

/** One a line; `-` is standard input. */
export function readLines(option: string, path: string): readonly string[] {
  try {
    const text = readFileSync(path === '-' ? STDIN : path, 'utf8')
    return text.split(/\r?\n/).filter((line) => line !== '')
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new CommandError(EXIT.usage, `${option}: cannot read ${JSON.stringify(path)}: ${why}`, { cause })
  }
}

export function parsePort(text: string): number {
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port
  throw new InvalidArgumentError('Expected a port, 0 to 65535.')
}

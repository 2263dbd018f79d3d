import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { InvalidArgumentError } from 'commander'
import { idsIn, type IdListHow } from '../src/people/id-list.ts'
import { CommandError, misuse } from './exit.ts'

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

/**
 * Message IDs, one a line; `-` is standard input.
 *
 * @throws CommandError, exit 2: it cannot be read, has no ID, or looks like another format
 */
export function readIds(option: string, path: string, how: IdListHow = {}): readonly string[] {
  const problem = (why: string, cause?: unknown): CommandError =>
    misuse(`${option}: ${path === '-' ? 'standard input' : JSON.stringify(path)}: ${why}`, {
      cause,
    })
  let bytes: Buffer
  try {
    bytes = readFileSync(path === '-' ? STDIN : path)
  } catch (cause) {
    throw problem(`cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`, cause)
  }
  if (bytes.includes(0)) throw problem('is not UTF-8 text: it looks like UTF-16, or is no text; save it as UTF-8')
  if (!isUtf8(bytes)) throw problem('is not UTF-8 text; save it as UTF-8')
  const ids = idsIn(bytes.toString('utf8'), how)
  if (typeof ids === 'string') throw problem(ids)
  return ids
}

/** For commands that read IDs. */
export const RAW_IDS = ['--raw-ids', 'lines are IDs as they are, with their blanks, quotes and commas'] as const

export function parsePort(text: string): number {
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port
  throw new InvalidArgumentError('Expected a port, 0 to 65535.')
}

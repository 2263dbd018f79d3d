import { InvalidArgumentError } from 'commander'

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `2026-11-01T00:00Z`, with its time zone, or how long ago: `90m`, `24h`, `7d`. */
export function parseTime(text: string): number {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  if (count !== undefined) return Date.now() - Number(count) * (UNIT_MS[unit] ?? 0)
  const at = /^\d{4}-\d\d-\d\dT\d\d:\d\d.*(Z|[+-]\d\d:?\d\d)$/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at)) {
    throw new InvalidArgumentError(
      'Expected a time with its zone, such as 2026-11-01T00:00Z, or how long ago, such as 24h.',
    )
  }
  return at
}

export function parsePosition(text: string): bigint {
  if (/^\d{1,19}$/.test(text)) return BigInt(text)
  throw new InvalidArgumentError('Expected an offset or a line number, from 0.')
}

export function parseRate(text: string): number {
  const rate = Number(text)
  if (/^\d{1,6}(\.\d{1,3})?$/.test(text) && rate > 0) return rate
  throw new InvalidArgumentError('Expected messages per second, such as 20 or 0.5.')
}

/** For options that may be given several times. */
export function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text]
}

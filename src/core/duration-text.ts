import type { DurationMs } from './units.ts'

const UNITS = [
  ['day', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** A duration for people, in the largest unit that divides it: `7 days`, `90 min`, `1500 ms`. */
export function durationText(ms: DurationMs): string {
  const [unit, size] = UNITS.find(([, length]) => ms >= length && ms % length === 0) ?? ['ms', 1]
  const count = ms / size
  return `${count} ${unit === 'day' && count !== 1 ? 'days' : unit}`
}

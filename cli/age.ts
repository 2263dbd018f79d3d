import { durationText } from '../src/core/duration-text.ts'

/** In the largest unit of which it has at least two: `41 s`, `3 h`. */
export function ageText(ms: number): string {
  const unit = [86_400_000, 3_600_000, 60_000, 1_000].find((size) => ms >= 2 * size) ?? 1
  return durationText(Math.round(ms / unit) * unit)
}

/** How long ago a time was, beside it in a table. Empty without a time; `0 ms` for a clock that is ahead of this one. */
export function ageOf(at: number | undefined, now: number = Date.now()): string {
  return at === undefined ? '' : ageText(Math.max(0, Math.round((now - at) / 1_000)) * 1_000)
}

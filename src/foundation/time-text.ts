import type { EpochMs } from '../core/units.ts'

// oxlint-disable no-restricted-globals -- the time is given: nothing here reads the clock

/** ISO 8601 in UTC. */
export function timeText(at: EpochMs): string {
  return new Date(at).toISOString()
}

/** Minutes after midnight, in the time zone of the process. */
export function minuteOfDay(at: EpochMs): number {
  const date = new Date(at)
  return date.getHours() * 60 + date.getMinutes()
}

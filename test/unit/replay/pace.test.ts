import { describe, expect, it } from '@jest/globals'
import { ManualClock } from '../../kit/manual-clock.ts'
import { Pace, parseQuietHours, quietForMinutes, type QuietHours } from '../../../src/replay/pace.ts'

function hours(text: string): QuietHours {
  const parsed = parseQuietHours(text)
  if (typeof parsed === 'string') throw new Error(parsed)
  return parsed
}

describe('quiet hours', () => {
  it.each([
    ['21:00-08:00', 22, 0, 600],
    ['21:00-08:00', 7, 59, 1],
    ['21:00-08:00', 8, 0, 0],
    ['12:00-13:00', 12, 30, 30],
    ['12:00-13:00', 13, 0, 0],
  ])('%s at %i:%i last %i minutes more', (text, hour, minute, left) => {
    expect(quietForMinutes(hours(text), new Date(2026, 10, 23, hour, minute).getTime())).toBe(left)
  })

  it.each(['21-08', '24:00-08:00', '08:00-08:00', '21:00'])('refuse %s', (text) => {
    expect(parseQuietHours(text)).toContain('expected ')
  })
})

describe('a rate', () => {
  it('lets messages begin that far apart, and makes up for no long wait', async () => {
    const clock = new ManualClock()
    const pace = new Pace(clock, 10, undefined)
    const { signal } = new AbortController()
    await pace.turn(signal)
    let begun = 0
    void pace.turn(signal).then(() => begun++)
    await clock.advance(99)
    expect(begun).toBe(0)
    await clock.advance(1)
    expect(begun).toBe(1)
    await clock.advance(10_000)
    await pace.turn(signal)
    void pace.turn(signal).then(() => begun++)
    await clock.advance(49)
    expect(begun).toBe(1)
  })

  it('ends a wait when it is stopped', async () => {
    const clock = new ManualClock()
    const pace = new Pace(clock, 0.001, undefined)
    const stop = new AbortController()
    await pace.turn(stop.signal)
    const waiting = pace.turn(stop.signal)
    stop.abort()
    await expect(waiting).resolves.toBeUndefined()
  })
})

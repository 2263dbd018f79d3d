import { describe, expect, it } from '@jest/globals'
import { Idle } from '../../../src/foundation/idle.ts'
import { ManualClock } from '../../kit/manual-clock.ts'

describe('what nobody uses for a while', () => {
  it('is let go of once, as long after the last use as it says, with one timer for all uses', async () => {
    const clock = new ManualClock()
    let times = 0
    const idle = new Idle(clock, 100, () => times++)
    idle.begin()
    expect([idle.users, clock.pending]).toEqual([1, 0])
    idle.end()
    await clock.advance(60)
    idle.begin()
    idle.end()
    expect([idle.users, clock.pending]).toEqual([0, 1])
    await clock.advance(99)
    expect(times).toBe(0)
    await clock.advance(1)
    expect([times, clock.pending]).toEqual([1, 0])
  })

  it('is kept while a use lasts, and let go of after that', async () => {
    const clock = new ManualClock()
    let times = 0
    const idle = new Idle(clock, 100, () => times++)
    idle.begin()
    idle.begin()
    idle.end()
    await clock.advance(1_000)
    expect([times, clock.pending]).toEqual([0, 0])
    idle.end()
    await clock.advance(100)
    expect(times).toBe(1)
  })

  it('is not let go of after a stop', async () => {
    const clock = new ManualClock()
    const idle = new Idle(clock, 100, () => expect('let go').toBe('kept'))
    idle.begin()
    idle.end()
    idle.stop()
    expect(clock.pending).toBe(0)
    await clock.advance(1_000)
  })
})

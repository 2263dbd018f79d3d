import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { systemClock } from '../../src/clock.ts'

afterEach(() => {
  jest.useRealTimers()
})

describe('the system clock', () => {
  it.each([Number.POSITIVE_INFINITY, 2 ** 31, 1e15])('takes %d ms for long, not for 1 ms', (delayMs) => {
    jest.useFakeTimers()
    const set = jest.spyOn(globalThis, 'setTimeout')
    systemClock.after(delayMs, () => {})()
    expect(set).toHaveBeenCalledWith(expect.any(Function), 2 ** 31 - 1)
  })

  it('calls nothing that was cancelled', () => {
    jest.useFakeTimers()
    const fn = jest.fn()
    systemClock.after(10, fn)()
    systemClock.after(10, fn)
    jest.advanceTimersByTime(100)
    expect(fn).toHaveBeenCalledTimes(1)
  })
})

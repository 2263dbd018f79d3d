import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { systemClock } from '../../../src/foundation/clock.ts'

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

  it('keeps no process alive for what is in the background', async () => {
    const program =
      "import { systemClock } from './src/foundation/clock.ts'; systemClock.after(1e9, () => {}, { background: true })"
    const args = ['--import', 'tsx', '--input-type=module', '-e', program]
    await expect(promisify(execFile)(process.execPath, args, { timeout: 20_000 })).resolves.toMatchObject({
      stderr: '',
    })
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

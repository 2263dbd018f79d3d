import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from '@jest/globals'
import { whyFailed } from '../../../bench/contender-process.ts'

const failureOf = (code: string, timeout = 60_000): Promise<unknown> =>
  promisify(execFile)(process.execPath, ['-e', code], { timeout, killSignal: 'SIGKILL' }).then(
    () => undefined,
    (error: unknown) => error,
  )

describe('why a contender has no measurement', () => {
  it.each([
    ['what it wrote', 'console.error("no such topic"); process.exit(1)', 'no such topic'],
    ['the signal that ended it', 'process.kill(process.pid, "SIGKILL")', 'ended by SIGKILL, and said nothing'],
    ['its exit code', 'process.exit(3)', 'exit code 3, and said nothing'],
  ])('says %s', async (_, code, told) => {
    expect(whyFailed(await failureOf(code))).toBe(told)
  })

  it('says that its time was over', async () => {
    expect(whyFailed(await failureOf('setInterval(() => {}, 1000)', 1))).toBe('no end within 3600 s')
  })

  it('says anything else as it is', () => {
    expect(whyFailed(new SyntaxError('no JSON'))).toBe('SyntaxError: no JSON')
  })
})

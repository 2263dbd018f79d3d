import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from '@jest/globals'

const run = promisify(execFile)

/** As `docs/testing.md` shows them: on `node:test`, without Jest. */
it.each([
  ['testing-handler', 2, 0],
  ['testing-faults', 2, 0],
  ['testing-store', 60, 14],
  ['testing-source', 10, 0],
])('examples/%s.ts passes on the runner of Node', async (example, least, mostSkipped) => {
  const { stdout } = await run(process.execPath, ['--import', 'tsx', `examples/${example}.ts`], {
    env: { ...process.env, NODE_OPTIONS: '' },
  })
  const count = (what: string): number => Number(new RegExp(`^\\S+ ${what} (\\d+)$`, 'm').exec(stdout)?.[1])
  expect(count('pass')).toBeGreaterThanOrEqual(least)
  expect([count('fail'), count('cancelled')]).toEqual([0, 0])
  expect(count('skipped')).toBeLessThanOrEqual(mostSkipped)
})

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from '@jest/globals'

const run = promisify(execFile)

/** As `docs/testing.md` shows them: on `node:test`, without Jest. */
it.each<[example: string, least: number, lacks: readonly string[]]>([
  ['testing-handler', 2, []],
  ['testing-faults', 2, []],
  // Each law of a capability that the store lacks is skipped with that reason, and no other law is.
  ['testing-store', 60, ['nobody may decide about records yet', 'rows are objects']],
  ['testing-source', 20, []],
])(
  'examples/%s.ts passes on the runner of Node',
  async (example, least, lacks) => {
    const { stdout } = await run(process.execPath, ['--import', 'tsx', `examples/${example}.ts`], {
      env: { ...process.env, NODE_OPTIONS: '' },
    })
    const count = (what: string): number => Number(new RegExp(`^\\S+ ${what} (\\d+)$`, 'm').exec(stdout)?.[1])
    expect(count('pass')).toBeGreaterThanOrEqual(least)
    expect([count('fail'), count('cancelled')]).toEqual([0, 0])
    const skipped = stdout.split('\n').filter((line) => line.endsWith('# SKIP'))
    expect(skipped).toHaveLength(count('skipped'))
    const reasons = new Set(skipped.map((line) => /\(not here: (.*)\) # SKIP$/.exec(line)?.[1]))
    expect(reasons).toEqual(new Set(lacks))
  },
  120_000,
)

import { describe, expect, it, jest } from '@jest/globals'
import { beforeEachOpen } from '../kit/opened.ts'
import { Cli, dataOf, WITHIN_MS, type CliRun } from '../kit/cli-process.ts'

jest.setTimeout(WITHIN_MS)

let cli: Cli
beforeEachOpen((own) => (cli = own(new Cli())))

/** Retention of the consumer in memory.config.ts. */
const RETENTION_MS = 4 * 3_600_000

interface Times {
  readonly since?: string
  readonly keep_until?: string
}

const inspect = (...args: string[]): Promise<CliRun> => cli.onMemory(['inspect', 'sms-sender', ...args])
const countOf = (run: CliRun): number => (dataOf(run) as { readonly records: readonly unknown[] }).records.length

describe('consume-once inspect', () => {
  it('says what each state means, and the commands that follow, for this one message', async () => {
    const { stderr } = await inspect('parked', 'given-up', 'in-doubt', 'processing', 'done', 'nowhere')
    expect(stderr).toMatch(/^parked: Its effect may have happened\. No copy runs until a person decides\./m)
    expect(stderr).toMatch(/^ {4}npx consume-once resolve sms-sender --done --reason WHY parked$/m)
    expect(stderr).toMatch(/^ {4}npx consume-once resolve sms-sender --rerun --reason WHY in-doubt$/m)
    expect(stderr).toMatch(/^given-up: .*a redrive fails again unless the handler has changed/m)
    expect(stderr).toMatch(/^processing: A process has it now\./m)
    expect(stderr).toMatch(/^done: .*\(a conflict\), do not forget this record/m)
    expect(stderr).toMatch(/^absent: This consumer has no record of it\./m)
  })

  it('says once what several have in common, with KEY in place of each', async () => {
    const { stderr } = await inspect('given-up', 'given-up-too', 'parked')
    expect(stderr.match(/^given-up: /gm)).toHaveLength(1)
    const listed = await inspect('--parked')
    const lines = listed.stderr.split('\n').filter((line) => line.includes('--done'))
    expect(lines).toEqual([expect.stringMatching(/resolve sms-sender --done --reason WHY [\w-]{3,22}$/)])
  })

  it('says since when a message is done', async () => {
    const { records } = dataOf(await inspect('done', '--json')) as { readonly records: readonly Times[] }
    const [record] = records
    expect(Date.parse(record?.keep_until ?? '') - Date.parse(record?.since ?? '')).toBe(RETENTION_MS)
    const { stdout } = await inspect('done')
    expect(stdout).toMatch(/ SINCE /)
    expect(stdout).toMatch(/ done +\d{4}-\d{2}-\d{2}T[\d:.]+Z /)
  })

  it.each([
    [['--given-up', '--older-than', '2099-01-01T00:00Z'], 2],
    [['--given-up', '--older-than', '1h'], 0],
    [['--given-up', '--reason', 'no such'], 2],
    [['--given-up', '--reason', 'handler-failed', '--older-than', '2099-01-01T00:00Z'], 2],
    [['--parked', '--reason', 'no such'], 0],
    [['--in-doubt', '--reason', 'handler-failed'], 0],
  ])('%j: lists %d records', async (args, count) => {
    expect(countOf(await inspect(...args, '--json'))).toBe(count)
  })

  it('says that none matches', async () => {
    const run = await inspect('--given-up', '--reason', 'another')
    expect(run).toMatchObject({ exitCode: 0, stdout: '' })
    expect(run.stderr).toContain('No record of workers/sms-sender is given-up and matches')
  })
})

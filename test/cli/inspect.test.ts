import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { Cli, dataOf, WITHIN_MS, type CliRun } from './cli-process.ts'

jest.setTimeout(WITHIN_MS)

let cli: Cli
beforeEach(() => {
  cli = new Cli()
})
afterEach(() => cli[Symbol.dispose]())

/** Of the consumer in memory.config.ts. */
const RETENTION_MS = 4 * 3_600_000

interface Times {
  readonly since?: string
  readonly keep_until?: string
}

const inspect = (...args: string[]): Promise<CliRun> => cli.onMemory(['inspect', 'sms-sender', ...args])
const countOf = (run: CliRun): number => (dataOf(run) as { readonly records: readonly unknown[] }).records.length

describe('consume-once inspect', () => {
  it('says what each state means, and the command that follows', async () => {
    const { stderr } = await inspect('parked', 'given-up', 'in-doubt', 'processing', 'done', 'nowhere', 'given-up-too')
    expect(stderr).toMatch(/^parked: .*consume-once resolve workers\/sms-sender <id> --done, or --rerun$/m)
    expect(stderr).toMatch(/^in-doubt: .*consume-once resolve workers\/sms-sender <id> --done, or --rerun$/m)
    expect(stderr.match(/^given-up: .*consume-once redrive workers\/sms-sender --dry-run$/gm)).toHaveLength(1)
    expect(stderr).toMatch(/^processing: a process has it now/m)
    expect(stderr).toMatch(/^done: .*consume-once forget workers\/sms-sender <id>$/m)
    expect(stderr).toMatch(/^absent: no record/m)
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

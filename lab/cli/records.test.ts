import { describe, expect, it, jest } from '@jest/globals'
import { beforeEachOpen } from '../../test/kit/opened.ts'
import { Cli, dataOf, WITHIN_MS, type CliRun } from '../../test/kit/cli-process.ts'

jest.setTimeout(WITHIN_MS)

interface Listing {
  readonly schema_version: number
  readonly command: string
  readonly consumer: string
  readonly scope: string
  readonly next?: string
  readonly records: readonly {
    readonly id?: string
    readonly key: string
    readonly origin?: string
    readonly state: string
    readonly reason?: string
    readonly lease_left_ms?: number
    readonly keep_until?: string
    readonly verdict?: string
  }[]
}

const WHY = ['--reason', 'OPS-812']

const listingOf = (run: CliRun): Listing => dataOf(run) as Listing
const recordsOf = (run: CliRun): Listing['records'] => listingOf(run).records

let cli: Cli
beforeEachOpen((own) => (cli = own(new Cli())))

describe('consume-once inspect', () => {
  it('prints what is known about messages as a table', async () => {
    const { exitCode, stdout, stderr, states } = await cli.onMemory([
      'inspect',
      'sms-sender',
      'given-up',
      'no\u001b[2J',
    ])
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(
      /^ID +KEY +ORIGIN +STATE +ATTEMPT +SINCE +AGE +FENCE +KEPT UNTIL +REASON +CAUSE +IDEMPOTENCY KEY$/m,
    )
    expect(stdout).toMatch(
      /^given-up +[\w-]{22} +sms +given-up +1 +\S+Z +\d+ m?s +1 +\S+Z +handler-failed +TerminalError: no such\\u000anumber +\S{43}$/m,
    )
    expect(stdout).toMatch(/^no\\u001b\[2J +[\w-]{22} +sms +absent +\S{43}$/m)
    expect(stdout).not.toContain('a config may log')
    expect(stderr).toContain('a config may log')
    expect(states).toMatchObject({ 'in-doubt': 'in-doubt', processing: 'processing' })
  })

  it('prints the same as one JSON object', async () => {
    const run = await cli.onMemory(['inspect', 'workers/sms-sender', 'processing', 'twice', '--json'])
    expect(listingOf(run)).toMatchObject({
      schema_version: 1,
      command: 'inspect',
      consumer: 'workers/sms-sender',
      scope: 'workers/sms-sender',
      records: [
        { id: 'processing', origin: 'sms', state: 'processing', attempt: 1, lease_left_ms: expect.any(Number) },
        { id: 'twice', origin: 'sms', state: 'done', keep_until: expect.stringMatching(/^\d{4}-.*Z$/) },
        { id: 'twice', origin: 'mails', state: 'done' },
      ],
    })
  })

  it.each([
    ['--parked', 1],
    ['--in-doubt', 1],
    ['--processing', 1],
    ['--given-up', 2],
  ])('lists what is %s, by keys that it takes back', async (flag, count) => {
    const listed = recordsOf(await cli.onMemory(['inspect', 'sms-sender', flag, '--json']))
    expect(listed).toHaveLength(count)
    const keys = listed.map(({ key }) => key).join('\r\n')
    const again = await cli.onMemory(['inspect', 'sms-sender', '--key', '-', '--json'], { stdin: `${keys}\n\n` })
    expect(recordsOf(again).map(({ state }) => `--${state}`)).toEqual(listed.map(() => flag))
  })

  it('lists records page by page, and counts them', async () => {
    const first = listingOf(await cli.onMemory(['inspect', 'sms-sender', '--given-up', '--limit', '1', '--json']))
    expect(first.records).toHaveLength(1)
    const after = ['--limit', '1', '--after', first.next ?? '']
    const second = await cli.onMemory(['inspect', 'sms-sender', '--given-up', ...after])
    expect(second.stdout.trim().split('\n')).toHaveLength(2)
    expect(second.stderr).not.toContain('There may be more')
    const { stdout } = await cli.onMemory(['inspect', 'sms-sender', '--stats', '--limit', '1'])
    expect(stdout).toMatch(/^processing +1$/m)
    expect(stdout).toMatch(/^given-up +1 or more$/m)
  })

  it('says in JSON, and on stderr, that a list is not the whole, and gives the whole for --all', async () => {
    const page = await cli.onMemory(['inspect', 'sms-sender', '--given-up', '--limit', '1', '--json'])
    expect(listingOf(page)).toMatchObject({ more: true, next: expect.any(String) })
    expect(page.stderr).toContain('There may be more: --all')
    const whole = await cli.onMemory(['inspect', 'sms-sender', '--given-up', '--all', '--json'])
    expect(listingOf(whole)).toMatchObject({ more: false })
    expect(recordsOf(whole)).toHaveLength(2)
    expect(whole.stderr).not.toContain('There may be more')
    const both = await cli.onMemory(['inspect', 'sms-sender', '--given-up', '--all', '--limit', '1'])
    expect(both).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--all: expected a list') })
  })

  it('accepts the first characters of a key if no other key begins with them', async () => {
    const [record] = recordsOf(await cli.onMemory(['inspect', 'sms-sender', 'parked', '--json']))
    const key = record?.key ?? ''
    const found = await cli.onMemory(['inspect', 'sms-sender', '--json', '--key', '--', key.slice(0, 12)])
    expect(recordsOf(found)).toMatchObject([{ key, state: 'parked' }])
    const decided = await cli.onMemory([
      'resolve',
      'sms-sender',
      '--done',
      ...WHY,
      '--yes',
      '--key',
      '--',
      key.slice(0, 8),
    ])
    expect(decided).toMatchObject({ exitCode: 0, states: { parked: 'done' } })
  })

  it('names the candidates of characters that begin several keys, and says where it looked for none', async () => {
    const several = await cli.run(['inspect', 'odd', '--key', 'AAAA', '--config', 'test/cli/odd.config.ts'], {
      env: { TEST_STORE: 'twins' },
    })
    expect(several.exitCode).toBe(2)
    expect(several.stderr).toMatch(/"AAAA" is the beginning of 2 keys: AAAAb{18}, AAAAc{18}; give more characters/)
    const none = await cli.onMemory(['inspect', 'sms-sender', '--key', 'AAAA'])
    expect(none).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('give all 22 characters for what is done'),
    })
    const short = await cli.onMemory(['inspect', 'sms-sender', '--key', 'AAA'])
    expect(short).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('its first 4 characters or more') })
  })

  it('says that a list is empty on stderr', async () => {
    const run = await cli.run(['inspect', 'odd', '--parked', '--config', 'test/cli/odd.config.ts'])
    expect(run).toMatchObject({ exitCode: 0, stdout: '' })
    expect(run.stderr).toContain('No record of g/odd is parked')
  })
})

describe('consume-once resolve, reopen, forget', () => {
  it('decides what is parked, in doubt or given up, and says what it was', async () => {
    const run = await cli.onMemory(['resolve', 'sms-sender', 'parked', 'in-doubt', '--done', ...WHY, '--yes', '--json'])
    expect(run.exitCode).toBe(0)
    expect(dataOf(run)).toMatchObject({
      command: 'resolve',
      decision: 'done',
      reason: 'OPS-812',
      by: expect.any(String),
    })
    expect(recordsOf(run)).toMatchObject([
      { id: 'parked', state: 'parked', verdict: 'decided' },
      { id: 'in-doubt', state: 'in-doubt', verdict: 'decided' },
    ])
    expect(run.states).toMatchObject({ parked: 'done', 'in-doubt': 'done', 'given-up': 'given-up' })
    expect(run.stderr).toContain('parked: parked (in-doubt) -> is done')
  })

  it('lets what is resolved by --rerun run, with the name of who decides', async () => {
    const args = ['resolve', 'sms-sender', 'parked', '--rerun', ...WHY, '--by', 'kim', '--yes', '--json']
    const run = await cli.onMemory(args)
    expect(dataOf(run)).toMatchObject({ by: 'kim', records: [{ verdict: 'decided' }] })
    expect(run.states['parked']).toBe('released')
  })

  it('reopens what was given up, from standard input', async () => {
    const args = ['reopen', 'sms-sender', '-', ...WHY, '--yes']
    const run = await cli.onMemory(args, { stdin: 'given-up\ngiven-up-too\n' })
    expect(run.exitCode).toBe(0)
    expect(run.stdout).toMatch(/^given-up +[\w-]{22} +given-up +decided$/m)
    expect(run.states).toMatchObject({ 'given-up': 'released', 'given-up-too': 'released' })
  })

  it('forgets what is done', async () => {
    const run = await cli.onMemory(['forget', 'sms-sender', 'done', ...WHY, '--yes'])
    expect(run).toMatchObject({ exitCode: 0, states: { done: 'released' } })
    expect(run.stderr).toContain('its effect happens AGAIN')
  })

  it('exits with 1 where a state refuses, and decides the others', async () => {
    const run = await cli.onMemory(['reopen', 'sms-sender', 'given-up', 'processing', 'parked', ...WHY, '--yes'])
    expect(run).toMatchObject({
      exitCode: 1,
      states: { 'given-up': 'released', processing: 'processing', parked: 'parked' },
    })
    expect(run.stderr).toContain('1 to change, 0 already in that state, 2 unchanged')
    expect(run.stderr).toContain('processing: processing -> stays: only what is given up')
    expect(run.stdout).toMatch(/^processing .* refused$/m)
  })

  it.each([
    ['forget', []],
    ['reopen', []],
    ['resolve', ['--rerun']],
    ['resolve', ['--done']],
  ])('treats an ID without a record as mistyped: %s %j', async (command, flags) => {
    const run = await cli.onMemory([command, 'sms-sender', 'dnoe', ...flags, ...WHY, '--json'])
    expect(run.exitCode).toBe(1)
    expect(recordsOf(run)).toMatchObject([{ id: 'dnoe', state: 'absent', verdict: 'no-record' }])
    expect(run.stderr).toContain('dnoe: absent -> no record: check the ID and --origin')
    expect(run.stderr).toContain('0 to change, 0 already in that state, 1 unchanged')
  })

  it('treats a key without a record as mistyped', async () => {
    const run = await cli.onMemory(['forget', 'sms-sender', '--key', 'aaaaaaaaaaaaaaaaaaaaaA', ...WHY])
    expect(run.exitCode).toBe(1)
    expect(run.stderr).toContain('absent -> no record: check the key')
  })

  it('asks for no confirmation if nothing changes', async () => {
    const already = await cli.onMemory(['resolve', 'sms-sender', 'done', '--done', ...WHY])
    expect(already.exitCode).toBe(0)
    expect(already.stdout).toMatch(/^done .* already$/m)
    expect((await cli.onMemory(['forget', 'sms-sender', 'parked', ...WHY])).exitCode).toBe(1)
  })

  it('is refused with 3, after the preview, where nobody can confirm [T141]', async () => {
    const run = await cli.onMemory(['forget', 'sms-sender', 'done', ...WHY])
    expect(run).toMatchObject({ exitCode: 3, stdout: '', states: { done: 'done' } })
    expect(run.stderr).toContain('done: done -> runs at its next delivery')
    expect(run.stderr).toContain('add --yes')
  })

  it.each([
    ['sms-sender 1', 0, 'released'],
    ['sms-sender 2', 3, 'done'],
  ])('requires %j to be typed on a terminal: exit %i', async (typed, exitCode, state) => {
    const quoted = [process.execPath, '--import', 'tsx', 'cli/main.ts', 'forget', 'sms-sender', 'done', ...WHY].join(
      ' ',
    )
    const states = cli.path('states.json')
    const env = { CONSUME_ONCE_CONFIG: 'test/cli/memory.config.ts', TEST_STATES_FILE: states, SHELL: '/bin/sh' }
    // `script` gives it a terminal, and its exit code.
    const command = ['script', '--quiet', '--return', '--command', quoted, '/dev/null'] as const
    const run = await cli.run([], { command, env, stdin: `${typed}\n` })
    expect(run.stdout).toContain('Type "sms-sender 1" to go on')
    expect(run.exitCode).toBe(exitCode)
    expect(JSON.parse(cli.read('states.json'))).toMatchObject({ done: state })
  })

  it('refuses an ID that is in use under two origins until one is named', async () => {
    const args = ['forget', 'sms-sender', 'done', 'twice', ...WHY, '--yes']
    const run = await cli.onMemory(args)
    expect(run).toMatchObject({ exitCode: 2, states: { done: 'done' } })
    expect(run.stderr).toContain('"twice" has records under sms and mails: say which by --origin')
    const told = await cli.onMemory(['forget', 'sms-sender', 'twice', '--origin', 'mails', ...WHY, '--yes', '--json'])
    expect(recordsOf(told)).toMatchObject([{ id: 'twice', origin: 'mails', verdict: 'decided' }])
  })
})

describe('consume-once purge', () => {
  it('removes what is over, and leaves what is parked', async () => {
    const env = { TEST_RETENTION_OVER: '1' }
    const run = await cli.onMemory(['purge', 'sms-sender', '--yes', '--batch', '2', '--json'], { env })
    expect(dataOf(run)).toMatchObject({ command: 'purge', removed: 3, interrupted: false })
    expect(run).toMatchObject({ exitCode: 0, states: { old: 'absent', parked: 'parked', done: 'done' } })
    expect(await cli.onMemory(['purge', 'sms-sender'], { env })).toMatchObject({ exitCode: 3, stdout: '' })
  })

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('ends after the batch under way at %s, with %i', async (name, exitCode) => {
    let batches = 0
    const run = await cli.run(['purge', 'odd', '--yes', '--config', 'test/cli/odd.config.ts'], {
      env: { TEST_STORE: 'endless' },
      onStderr: (text, signal) => {
        if (text.includes('a batch was removed') && ++batches === 3) signal(name)
      },
    })
    expect(run.exitCode).toBe(exitCode)
    expect(run.stdout).toMatch(/^\d+ removed$/m)
  })
})

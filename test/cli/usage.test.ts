import { describe, expect, it, jest } from '@jest/globals'
import { beforeEachOpen } from '../kit/opened.ts'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { compiled } from '../kit/compiled.ts'
import { AS_PROCESS, Cli, dataOf, UNDER_TSX, WITHIN_MS } from '../kit/cli-process.ts'

jest.setTimeout(WITHIN_MS)

const ODD = ['--config', 'test/cli/odd.config.ts']

let cli: Cli
beforeEachOpen((own) => (cli = own(new Cli())))

describe('consume-once, used wrongly', () => {
  it.each([
    [['frobnicate'], /unknown command/],
    [['inspect'], /missing required argument 'consumer'/],
    [['inspect', 'odd', ...ODD], /expected message IDs, or one of --parked/],
    [['inspect', 'odd', 'id', '--parked', ...ODD], /expected message IDs, or one of --parked/],
    [['inspect', 'odd', '--parked', '--limit', '0', ...ODD], /whole number from 1/],
    [['inspect', 'odd', '--key', 'short', ...ODD], /22 characters/],
    [['inspect', 'odd', '-', ...ODD], /at least one message ID/],
    [['inspect', 'odd', 'x'.repeat(600), ...ODD], /longer than 512 bytes/],
    [
      ['inspect', 'nobody', 'id', ...ODD],
      /expected a consumer of the config \(g\/odd, g\/fine, g\/shared, h\/shared\)/,
    ],
    [['inspect', 'shared', 'id', ...ODD], /several consumers: say one of g\/shared, h\/shared/],
    [['forget', 'odd', 'id', '--yes', ...ODD], /required option '--reason <text>'/],
    [['forget', 'odd', 'id', '--yes', '--reason', ' ', ...ODD], /--reason: expected why/],
    [['resolve', 'odd', 'id', '--reason', 'x', ...ODD], /expected one of --done and --rerun/],
    [['resolve', 'odd', 'id', '--done', '--rerun', '--reason', 'x', ...ODD], /expected one of --done and --rerun/],
    [['find', ...ODD], /expected --where, or a text/],
    [['find', '--where', 'orderId', ...ODD], /Not a condition: expected <field>=<value>/],
    [['find', 'x', '--text', 'x', ...ODD], /--text: expected it once/],
    [['find', '--text', 'x', '--topics', '--from', 'kafka:sms', ...ODD], /--from: expected no --topics/],
    [['find', '--text', 'x', '--since', '1h', '--until', '2h', ...ODD], /expected a time before --until/],
    [['find', '--text', 'x', ...ODD], /no place of dead letters that can be read: give --from/],
    [['redrive', 'odd', '--dry-run', '--key', 'short', ...ODD], /expected a key of 22 characters of base64url/],
    [['inspect', 'odd', 'id', '--dead-letters', ...ODD], /--dead-letters: expected a list/],
    [['why'], /missing required argument 'message'/],
    [['why', 'id', '--consumer', 'nobody', ...ODD], /expected a consumer of the config/],
    [['why', 'id', '--look-at-most', '0', ...ODD], /whole number from 1/],
    [['doctor', 'nobody', ...ODD], /expected a consumer of the config/],
    [['inspect', 'odd', 'id', '--reason', 'x', ...ODD], /--reason: expected a list/],
    [['inspect', 'odd', '--parked', '--older-than', '1h', '--limit', '2', ...ODD], /neither --limit nor --after/],
    [['inspect', 'odd', '--processing', '--older-than', '1h', ...ODD], /--older-than: expected --parked or --given-up/],
    [['inspect', 'odd', '--parked', '--older-than', 'long', ...ODD], /how long ago, such as 24h/],
    [['inspect', 'odd', '--at', 't/0/7', 'id', ...ODD], /expected message IDs, or one of/],
    [['inspect', 'odd', '--at', 't/0', ...ODD], /--at: expected topic\/partition\/offset, got "t\/0"/],
    [['inspect', 'odd', '--at', 't/0/7', '--key', ...ODD], /--at: expected neither --key nor --origin/],
    [['inspect', 'odd', '--at', 't/0/7', ...ODD], /--at: expected a subscription by kafkaSubscription\(\)/],
    [['audit', '--all', ...ODD], /--all: expected one consumer, got none/],
    [['redrive', 'odd', 'id', '--outbox', '1', ...ODD], /--outbox: expected no messages/],
    [['audit', 'odd', '--key', ...ODD], /--key: expected a key, got none/],
    [['audit', 'odd', 'id', '--after', '7', ...ODD], /--after: expected neither an ID nor --all/],
    [['audit', 'odd', '--all', '--limit', '7', ...ODD], /--all: expected no --limit/],
    [['audit', 'odd', '--since', '2026-02-30T00:00Z', ...ODD], /Expected a time with its zone/],
    [['audit', 'odd', '--since', '1h', '--until', '2h', ...ODD], /expected a time before --until/],
    [
      ['replay', 'plan', 'odd', '--from', 'file:x', '--from-position', '7', '--to-position', '7', ...ODD],
      /toPosition: expected a position after fromPosition, 7, got 7/,
    ],
  ])('%j: exit 2, and says why', async (args, why) => {
    const run = await cli.run(args)
    expect(run.stderr).toMatch(why)
    expect(run).toMatchObject({ exitCode: 2, stdout: '' })
  })

  it.each([
    [['--config', 'test/cli/odd.config.ts', '--json', 'inspect', 'odd', 'id']],
    [['--json', '--timeout=5', '--config', 'test/cli/odd.config.ts', 'inspect', 'odd', 'id']],
  ])('takes the options of every command in front of it: %j', async (args) => {
    const behind = await cli.run(['inspect', 'odd', 'id', '--json', ...ODD], AS_PROCESS)
    expect(behind.stdout).toContain('"command":"inspect"')
    expect(await cli.run(args)).toEqual(behind)
  })

  it.each(['null', '[1', '"plan"'])('says that a file with %s is no plan', async (text) => {
    const run = await cli.run(['replay', 'run', cli.file('plan.json', text), '--reason', 'x', '--yes', ...ODD])
    expect(run.stderr).toMatch(/plan\.json: expected a plan of `replay plan --out`/)
    expect(run).toMatchObject({ exitCode: 2, stdout: '' })
  })

  it('says that a message in a queue has no position', async () => {
    const settings = {
      broker: { amqp: 'amqp://127.0.0.1:1', queue: 'sms' },
      store: { redis: 'redis://127.0.0.1:1', prefix: 'none' },
      group: 'g',
    }
    const run = await cli.run(['inspect', 'sms', '--at', 'sms/0/7'], {
      env: { CONSUME_ONCE_CONFIG: 'test/cli/replay.config.ts', TEST_REPLAY: JSON.stringify(settings) },
    })
    expect(run).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('a message in a queue has no position') })
  })

  it.each([
    ['why'],
    ['find'],
    ['inspect'],
    ['audit'],
    ['resolve'],
    ['reopen'],
    ['forget'],
    ['purge'],
    ['migrate'],
    ['doctor'],
  ])('explains %s', async (command) => {
    const { exitCode, stdout } = await cli.run([command, '--help'])
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(/Examples:[\s\S]*Exit code 0/)
  })
})

describe('the config of consume-once', () => {
  // One is loaded as a Node does it that takes TypeScript.
  it.each([
    ['js', {}, compiled],
    ['mjs', AS_PROCESS, compiled],
    ['ts', { command: UNDER_TSX }, resolve],
    ['mts', AS_PROCESS, compiled],
  ] as const)('is found here as consume-once.config.%s', async (extension, how, fileOf) => {
    cli.file('package.json', '{ "type": "module" }')
    const odd = JSON.stringify(fileOf('test/cli/odd.config.ts'))
    cli.file(`consume-once.config.${extension}`, `export { default } from ${odd}`)
    const run = await cli.run(['inspect', 'odd', 'id', '--json'], { ...how, cwd: cli.dir })
    expect(dataOf(run)).toMatchObject({ records: [{ id: 'id', state: 'absent' }] })
  })

  it('is missed', async () => {
    const run = await cli.run(['doctor'], { cwd: cli.dir })
    expect(run.exitCode).toBe(2)
    expect(run.stderr).toMatch(/found none of consume-once\.config\.js, .*\.mjs, .*\.ts, .*\.mts in/)
    expect((await cli.run(['doctor', '--config', 'nowhere.mjs'])).stderr).toMatch(/--config: no file .*nowhere\.mjs/)
  })

  it.each([
    ['export const config = {}', /no default export/],
    ['export default {}', /consumers: expected a list/],
    [
      'export default { consumers: [{ consumer: {}, subscription: {} }], clsoe: 1 }',
      /clsoe: unknown option[\s\S]*defineConsumer[\s\S]*subscription\.group: expected/,
    ],
    ['export default {', /./],
    ["throw new Error('no redis://me:s3cret@host')", /no redis:\/\/\*\*\*@host/],
  ])('%j: exit 2', async (text, why) => {
    const run = await cli.run(['doctor', '--config', cli.file('c.mjs', text)])
    expect(run.stderr).toMatch(why)
    expect(run.stderr).not.toContain('s3cret')
    expect(run).toMatchObject({ exitCode: 2, stdout: '' })
  })
})

function write(name: string, text: string): void {
  cli.file(
    name,
    text
      .replace('LIBRARY', JSON.stringify(compiled('src/index.ts')))
      .replace('MEMORY', JSON.stringify(compiled('src/memory/index.ts'))),
  )
}

describe('a config in TypeScript, without tsx', () => {
  const CONFIG = `
    import { defineConfig } from LIBRARY
    import { sms, Topic } from './consumers'
    export default defineConfig({ consumers: [{ consumer: sms, subscription: { group: 'g', origins: [Topic.sms] } }] })`
  const CONSUMERS = `
    import { defineConsumer, type Consumer } from LIBRARY
    import { memoryStore } from MEMORY
    export enum Topic { sms = 'sms' }
    export const sms: Consumer = defineConsumer({ name: 'sms', store: memoryStore(), handle: () => {} })`

  it.each(['commonjs', 'module'])('is loaded, with what it imports: type %s', async (type) => {
    cli.file('package.json', JSON.stringify({ type }))
    write('consume-once.config.ts', CONFIG)
    write('consumers.ts', CONSUMERS)
    const run = await cli.run(['inspect', 'sms', 'id', '--json'], { cwd: cli.dir })
    expect(dataOf(run)).toMatchObject({ records: [{ id: 'id', origin: 'sms', state: 'absent' }] })
  })

  it.each([
    ["import './nowhere.ts'", /nowhere/],
    ['const port: number =', /./],
    ["throw new Error('no redis://me:s3cret@host')", /no redis:\/\/\*\*\*@host/],
    ['export default {}', /consumers: expected a list/],
  ])('%j: exit 2', async (text, why) => {
    const run = await cli.run(['doctor', '--config', cli.file('c.ts', text)])
    expect(run.stderr).toMatch(why)
    expect(run.stderr).not.toContain('s3cret')
    expect(run).toMatchObject({ exitCode: 2, stdout: '' })
  })
})

async function toldBy(command: readonly string[], file: string): Promise<readonly [number | null, string]> {
  const { exitCode, stderr } = await cli.run([...command, file, ...ODD])
  return [exitCode, stderr]
}

describe('a file of message IDs', () => {
  const commands = [
    ['mark', 'odd', '--reason', 'x', '--yes', '--from-file'],
    ['replay', 'plan', 'odd', '--from', 'memory:sms', '--ids-from'],
    ['redrive', 'odd', '--dry-run', '--ids-from'],
  ]
  it.each(commands)('is refused if it looks like another format: %s %s', async (...command) => {
    const csv = cli.file('ids.csv', '\uFEFF"m0","2026-11-01"\r\n"m1","2026-11-01"\r\n')
    const refused = expect.stringMatching(/: line 1 is in quotes: expected one message ID a line.*--raw-ids\n$/)
    expect(await toldBy(command, csv)).toEqual([2, refused])
    const none = expect.stringContaining(': expected at least one message ID, got none')
    expect(await toldBy(command, cli.file('empty.txt', '\n \n'))).toEqual([2, none])
    const sixteen = cli.file('windows.txt', 'm\u00000\u0000\n\u0000')
    expect(await toldBy(command, sixteen)).toEqual([2, expect.stringContaining('save it as UTF-8')])
    expect(await toldBy(command, cli.path('missing'))).toEqual([2, expect.stringContaining('cannot be read')])
  })

  it('of standard input is refused likewise', async () => {
    const { exitCode, stderr } = await cli.run(['inspect', 'odd', '-', ...ODD], { stdin: '["m0"]' })
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('ids: standard input: looks like JSON')])
  })

  it('marks the messages that it names, whatever stands around their IDs', async () => {
    const file = cli.file('sent.txt', '\uFEFF m0 \r\nm1\t\r\n\r\nm1\r\ngiven-up\r\n')
    const mark = ['mark', 'sms-sender', '--origin', 'sms', '--reason', 'x', '--yes', '--from-file', file]
    const { exitCode, stdout, stderr } = await cli.onMemory(mark)
    expect(stderr).toContain('3 messages (m0, m1, and 1 more) will be done')
    expect(stdout).toMatch(/^MESSAGES +COUNT\ndone now +2\n.*\n.* 1\nthese were left: given-up\n$/)
    expect(exitCode).toBe(1)
  })
})

describe('a consumer that has positions, not records', () => {
  const config = ['--config', 'test/cli/postgres.config.ts']
  it.each([
    [['inspect', 'by-offsets', 'id']],
    [['audit', 'by-offsets']],
    [['why', 'id', '--consumer', 'by-offsets']],
    [['replay', 'plan', 'by-offsets', '--from', 'kafka:sms']],
    [['redrive', 'by-offsets', '--dry-run']],
  ])('%j: exit 2, and names the command that works', async (args) => {
    const run = await cli.run([...args, ...config])
    expect(run).toMatchObject({ exitCode: 2, stdout: '' })
    expect(run.stderr).toContain('`consume-once positions by-offsets`')
  })
})

describe('a store that cannot be reached', () => {
  it.each(['unreachable', 'ambiguous'])('%s: exit 4, and no secret is told [T123]', async (store) => {
    const run = await cli.run(['inspect', 'odd', 'id', ...ODD], { env: { TEST_STORE: store } })
    expect(run).toMatchObject({ exitCode: 4, stdout: '' })
    expect(run.stderr).not.toContain('s3cret')
  })

  it('is given up on after --timeout', async () => {
    const run = await cli.run(['inspect', 'odd', 'id', '--timeout', '1', ...ODD], { env: { TEST_STORE: 'silent' } })
    expect(run.exitCode).toBe(4)
    expect(run.stderr).toContain('no answer within 1 s (--timeout)')
  })
})

describe('consume-once why', () => {
  it.each(['unreachable', 'ambiguous'])('tells whose store is %s, and asks the others', async (store) => {
    const run = await cli.run(['why', 'id', '--json', ...ODD], { env: { TEST_STORE: store } })
    expect(run.exitCode).toBe(4)
    expect(run.stdout).not.toContain('s3cret')
    expect(dataOf(run)).toMatchObject({
      message: 'id',
      found: [],
      problems: expect.arrayContaining([expect.objectContaining({ code: expect.stringContaining('STORE') })]),
    })
  })

  it('says that nobody knows the message: exit 1', async () => {
    const run = await cli.run(['why', 'order-18', '--config', 'test/cli/orders.config.ts'])
    expect(run).toMatchObject({ exitCode: 1, stdout: '' })
    expect(run.stderr).toContain('No record and no dead letter of it was found: sms/sms-sender.')
  })
})

describe('a rare state', () => {
  it('is looked for page after page, until there is one to show', async () => {
    const asked = ['inspect', 'odd', '--parked', '--limit', '1', '--json', ...ODD]
    const run = await cli.run(asked, { env: { TEST_STORE: 'rare' } })
    expect(run.exitCode).toBe(0)
    expect(dataOf(run)).toMatchObject({ records: [{ reason: 'rare' }], more: false })
  })
})

describe('consume-once doctor', () => {
  interface Report {
    readonly consumers: readonly { readonly consumer: string; readonly verdict: string; readonly findings: unknown[] }[]
  }

  it('exits with 0 where nothing is broken, and says unknown where it may not look', async () => {
    const run = await cli.run(['doctor', '--json', ...ODD])
    expect(run.exitCode).toBe(0)
    expect((dataOf(run) as Report).consumers.map(({ consumer, verdict }) => `${consumer} ${verdict}`)).toEqual([
      'g/odd holds',
      'g/fine holds',
      'g/shared holds',
      'h/shared unknown',
    ])
  })

  it('exits with 1 where something is broken, and says in one paragraph what', async () => {
    const { exitCode, stdout } = await cli.onMemory(['doctor', 'sms-sender'])
    expect(exitCode).toBe(1)
    expect(stdout).toMatch(
      /^workers\/sms-sender: broken\n\nsms-sender \(lease\): .*This does not hold here:.*\n\nVERDICT/,
    )
    expect(stdout).toMatch(/^broken +memory\.durability +records in the memory/m)
  })

  it.each(['unreachable', 'silent'])('exits with 4 where a store is %s, and tells no secret [T124]', async (store) => {
    const run = await cli.run(['doctor', 'odd', '--json', '--timeout', '1', ...ODD], { env: { TEST_STORE: store } })
    expect(run.exitCode).toBe(4)
    expect(dataOf(run)).toMatchObject({
      schema_version: 1,
      consumers: [{ verdict: 'unknown', unreachable: ['store'] }],
    })
    expect(run.stdout + run.stderr).not.toContain('s3cret')
  })

  it('tells an older Node what it needs, and nothing else', async () => {
    const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      readonly engines: { readonly node: string }
    }
    const older = cli.file(
      'older.cjs',
      "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '18.20.8' } })",
    )
    const run = await cli.run(['doctor'], { command: [process.execPath, '--require', older, compiled('cli/main.ts')] })
    const [, least] = /^>=(.+)$/.exec(engines.node) ?? []
    expect(run).toMatchObject({ exitCode: 2, stdout: '' })
    expect(run.stderr).toBe(
      `consume-once: expected Node.js ${least} or newer, got 18.20.8: install one, or choose it in your version manager\n`,
    )
  })

  it('says in one sentence that Redis is down', async () => {
    const settings = {
      broker: { amqp: 'amqp://127.0.0.1:1', queue: 'sms' },
      store: { redis: 'redis://127.0.0.1:1', prefix: 'none' },
      group: 'g',
    }
    const run = await cli.run(['inspect', 'sms', 'id'], {
      ...AS_PROCESS,
      env: { CONSUME_ONCE_CONFIG: 'test/cli/replay.config.ts', TEST_REPLAY: JSON.stringify(settings) },
    })
    expect(run).toMatchObject({ exitCode: 4, stdout: '' })
    expect(run.stderr).toMatch(
      /^consume-once: STORE_UNREACHABLE: Redis at 127\.0\.0\.1:1 cannot be connected to: .*\. See that the server of the store runs.*\n$/,
    )
  })
})

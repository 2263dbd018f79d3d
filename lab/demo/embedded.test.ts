import { describe, expect, it, jest } from '@jest/globals'
import { DemoProcess, idsOf, readLines } from './demo-process.ts'

const SMS = 'examples/data/sms-notifications.ndjson'
const ODD = 'examples/data/odd-cases.ndjson'

/** A demo takes a few seconds, on a busy machine many. */
jest.setTimeout(180_000)

describe('demo, embedded', () => {
  it('handles each message of the example once, and nothing again on the same state', async () => {
    await using demo = new DemoProcess()
    const effects = demo.path('effects.ndjson')
    const first = await demo.figures(['--effects', effects])
    expect(first).toMatchObject({
      schema_version: 1,
      source: 'memory',
      store: 'pglite',
      distinct: 8600,
      handled: 8600,
    })
    expect(first).toMatchObject({
      lost: 0,
      double_effects: 0,
      no_id: 0,
      conflicts: 0,
      failed: 0,
      resumed: false,
      exitCode: 0,
    })
    expect(first['redeliveries']).toBeGreaterThan(0)
    expect(first['delivered']).toBe(10_425 + (first['redeliveries'] ?? 0))

    const inputIds = idsOf(readLines(SMS))
    const rows = demo.rows(effects)
    expect(rows).toHaveLength(8600)
    expect(new Set(rows.map(({ id }) => id))).toEqual(inputIds)
    expect(Object.keys(rows[0] ?? {}).toSorted()).toEqual(['at', 'id', 'key', 'payload_sha256'])

    const second = await demo.figures([])
    expect(second).toMatchObject({
      distinct: 8600,
      handled: 0,
      lost: 0,
      double_effects: 0,
      resumed: true,
      exitCode: 0,
    })
  })

  it('tells people what happened, where the state lies and what to try next, and says when it handled nothing', async () => {
    await using demo = new DemoProcess()
    const args = ['--input', ODD, '--state', demo.state]
    const first = await demo.run(args)
    expect(first.exitCode).toBe(0)
    expect(first.stdout).toMatch(/Every message had its effect once, except what is without a usable ID/)
    for (const said of [/delivered/, /distinct/, /effects per message: 1\.000 with the library/, /State/, /Try next/]) {
      expect(first.stdout).toMatch(said)
    }
    expect(first.stdout).toContain(demo.state)
    const second = await demo.run(args)
    expect(second.stdout).toMatch(/Handled 0/)
  })

  it.each(['pglite', 'memory'])(
    'dead-letters what has no usable ID or another payload, merges nothing, loses nothing, on %s',
    async (store) => {
      await using demo = new DemoProcess({ hasPglite: store === 'pglite' })
      const figures = await demo.figures(['--input', ODD, '--store', store, '--effects', demo.path('effects')])
      expect(figures).toMatchObject({ distinct: 36, handled: 36, no_id: 10, lost: 0, double_effects: 0, exitCode: 0 })
      const deadLetters = demo.rows(`${demo.state}/dead-letters.ndjson`)
      expect(deadLetters).toHaveLength(figures['dead_lettered'] ?? -1)
      expect(deadLetters.filter(({ reason }) => reason === 'conflict')).toHaveLength(figures['conflicts'] ?? -1)
      expect(new Set(deadLetters.map(({ reason }) => reason))).toEqual(new Set(['no-id', 'conflict']))
      expect(deadLetters.filter(({ id }) => id === null).length).toBeGreaterThanOrEqual(10)
      const ids = demo.rows(demo.path('effects')).map(({ id }) => id)
      for (const id of ['__proto__', 'constructor', 'toString']) expect(ids).toContain(id)
      expect(new Set(ids).size).toBe(36)
    },
  )

  it('adds another input to the same state', async () => {
    await using demo = new DemoProcess({ hasPglite: true })
    const lines = readLines(SMS)
    const a = demo.input('a.ndjson', lines.slice(0, 300))
    const b = demo.input('b.ndjson', lines.slice(200, 600))
    const first = await demo.figures(['--input', a])
    const second = await demo.figures(['--input', b, '--effects', demo.path('effects')])
    expect(second).toMatchObject({ lost: 0, double_effects: 0, resumed: true, exitCode: 0 })
    expect(demo.rows(demo.path('effects'))).toHaveLength((first['handled'] ?? 0) + (second['handled'] ?? 0))
    expect(second['handled']).toBeLessThan(second['distinct'] ?? 0)
  })

  it('goes on with what a killed run left of another input', async () => {
    await using demo = new DemoProcess({ hasPglite: true })
    const lines = readLines(SMS)
    const a = demo.input('a.ndjson', lines.slice(0, 1000))
    const killed = await demo.run(['--input', a, '--state', demo.state, '--kill-at', 'handled:150'])
    expect(killed.signal).toBe('SIGKILL')
    const effects = demo.path('effects')
    const next = await demo.figures(['--input', demo.input('b.ndjson', lines.slice(1000, 1200)), '--effects', effects])
    expect(next).toMatchObject({ lost: 0, double_effects: 0, exitCode: 0 })
    const ids = idsOf(lines.slice(0, 1200))
    expect(new Set(demo.rows(effects).map(({ id }) => id))).toEqual(ids)
  })

  it('says that a kill was never reached, with exit code 1', async () => {
    await using demo = new DemoProcess({ hasPglite: true })
    const run = await demo.run(['--input', ODD, '--state', demo.state, '--json', '--kill-at', 'handled:1000000'])
    expect(run.exitCode).toBe(1)
    expect(run.stderr).toMatch(/never reached/)
    expect(JSON.parse(run.stdout)).toMatchObject({ lost: 0, double_effects: 0 })
  })

  it('reads messages from standard input', async () => {
    await using demo = new DemoProcess({ hasPglite: true })
    const stdin = readLines(SMS).slice(0, 50).join('\n')
    const run = await demo.run(['--input', '-', '--state', demo.state, '--json'], { stdin })
    expect(JSON.parse(run.stdout)).toMatchObject({ lost: 0, double_effects: 0 })
  })
})

describe('demo, with wrong arguments', () => {
  const line = '{"topic":"t","headers":["message-id","1"],"payload":"x"}'
  it.each([
    [['--bogus'], 2, /unknown option '--bogus'/],
    [['--source', 'nats'], 2, /Allowed choices are memory, kafka, rabbitmq/],
    [['--kill-at', 'handled'], 2, /Expected STEP:N/],
    [['--kill-at', 'handled:0'], 2, /Expected STEP:N/],
    [['--store', 'memory', '--kill-at', 'handled:5'], 2, /nothing to go on from/],
    [['--input', '/does/not/exist'], 2, /cannot read the input/],
    [['--input', '-'], 2, /line 2: .*Expected one JSON object a line.*Nothing was produced/],
  ])('%j: exit code %d and a clear error', async (args, exitCode, said) => {
    await using demo = new DemoProcess()
    const run = await demo.run([...args, '--json', '--state', demo.state], { stdin: `${line}\nnot json\n` })
    expect(run).toMatchObject({ exitCode, stdout: '' })
    expect(run.stderr).toMatch(said)
  })

  it.each([
    [
      'an ID whose bytes were lost',
      Buffer.from([...Buffer.from(`${line}\n{"headers":["message-id","caf`), 0xe9, ...Buffer.from('"]}')]),
    ],
    ['an ID with half a character', `${line}\n{"headers":["message-id","\\ud800"]}`],
    ['bytes that are not base64', `${line}\n{"payload_base64":"!!"}`],
    ['an array', `${line}\n[]`],
  ])('%s: names the line, and produces nothing', async (_name, stdin) => {
    await using demo = new DemoProcess()
    const run = await demo.run(['--input', '-', '--json', '--state', demo.state], { stdin })
    expect(run).toMatchObject({ exitCode: 2, stdout: '' })
    expect(run.stderr).toMatch(/-, line 2: .*Nothing was produced/)
  })

  it('an effects file that cannot be written, or an invalid address: exit code 2', async () => {
    await using demo = new DemoProcess()
    const args = ['--input', ODD, '--state', demo.state]
    const effects = await demo.run([...args, '--effects', '/does/not/exist'])
    expect(effects).toMatchObject({ exitCode: 2, stdout: '' })
    expect(effects.stderr).toMatch(/--effects .* cannot be written/)
    const address = await demo.run([...args, '--store', 'redis'], { env: { REDIS_URL: 'localhost:foo' } })
    expect(address).toMatchObject({ exitCode: 2, stdout: '' })
    expect(address.stderr).toMatch(/REDIS_URL: expected a URL/)
  })

  it.each([
    ['redis', { REDIS_URL: 'redis://127.0.0.1:9' }, ['--store', 'redis']],
    ['postgres', { DATABASE_URL: 'postgres://127.0.0.1:9/x' }, ['--store', 'postgres']],
    ['rabbitmq', { RABBITMQ_URL: 'amqp://127.0.0.1:9' }, ['--source', 'rabbitmq']],
    ['kafka', { KAFKA_BROKERS: '127.0.0.1:9' }, ['--source', 'kafka']],
  ])('%s cannot be reached: exit code 4, and a later run completes', async (_name, env, args) => {
    await using demo = new DemoProcess({ hasPglite: args[0] === '--source' })
    const run = await demo.run([...args, '--input', ODD, '--json', '--state', demo.state], { env })
    expect(run).toMatchObject({ exitCode: 4, stdout: '' })
    expect(run.stderr).toMatch(/ at .* answers .*Start one, or set [A-Z_]+\. Nothing was produced/)
    if (args[0] === '--store') return
    expect(await demo.figures(['--input', ODD])).toMatchObject({ lost: 0, double_effects: 0, exitCode: 0 })
  })

  it('refuses a state that belongs to another store', async () => {
    await using demo = new DemoProcess({ hasPglite: true })
    await demo.figures(['--input', ODD])
    const run = await demo.run(['--input', ODD, '--store', 'memory', '--state', demo.state])
    expect(run.exitCode).toBe(3)
    expect(run.stderr).toMatch(/belongs to a demo with --store pglite/)
  })
})

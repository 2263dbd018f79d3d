// From a part of a message to the message, on both brokers.
import { userInfo } from 'node:os'
import { describe, expect, it, jest } from '@jest/globals'
import { AS_PROCESS, dataOf, WITHIN_MS } from '../kit/cli-process.ts'
import { backends } from '../kit/backends.ts'
import { eventually } from '../kit/eventually.ts'
import { freePort } from '../kit/servers/ports.ts'
import { Incident } from '../replay/incident.ts'

jest.setTimeout(WITHIN_MS)

interface Found {
  readonly messages: readonly { readonly key: string; readonly from: string; readonly state: string }[]
  readonly looked: readonly { readonly from: string; readonly looked: number; readonly no_field: number }[]
}

const describeKafka = backends.has('kafka') && backends.has('redis') ? describe : describe.skip
const describeRabbit = backends.has('rabbitmq') && backends.has('postgres') ? describe : describe.skip

const SENT = [
  { id: '4711', tenant: 'globex' },
  { id: '4712', tenant: 'globex' },
  { id: '4713', tenant: 'acme' },
]

describeKafka('consume-once find, on Kafka', () => {
  it('finds a dead letter by a field, a header or a text, and the message itself in its topic', async () => {
    await using incident = await Incident.on('kafka', 'redis', { partitions: 1 })
    await incident.send(SENT)
    await incident.live(incident.hasEffectsAndDeadLetters(1, 2), { bugFor: 'globex' })
    const letters = `${incident.from}.dead-letter`
    const byField = await incident.json<Found>(['find', '--where', '/to=+494712'])
    expect(byField.messages).toMatchObject([
      {
        consumer: `${incident.group}/sms`,
        set_aside_by: `${incident.group}/sms`,
        from: letters,
        state: 'given-up',
        reason: 'handler-failed',
      },
    ])
    expect(byField.messages[0]).not.toHaveProperty('id')
    expect(byField.looked).toMatchObject([{ from: letters, looked: 2, of: 2, no_field: 0 }])
    const { key = '' } = byField.messages[0] ?? {}
    for (const how of [
      ['--where', '$message.header#/id=4712'],
      ['--text', '4712'],
      ['--where', '/tenant=globex', '--where', '/id^=4712'],
      ['--text', '494712', '--since', '1h'],
    ]) {
      expect((await incident.json<Found>(['find', ...how])).messages).toMatchObject([{ key, from: letters }])
    }
    const text = await incident.run(['find', '--where', '/to=+494712'], { logIds: true }, AS_PROCESS)
    expect(text).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining(`consume-once why ${key} --consumer `),
    })
    expect(text.stdout).toMatch(
      new RegExp(`^\\S+/sms +${letters}/0/\\d +\\S+Z +4712 +${key} +given-up +handler-failed +[\\w-]{43}$`, 'm'),
    )

    expect(await incident.run(['find', '--where', '/to=+494713'])).toMatchObject({ exitCode: 1, stdout: '' })
    const inTopic = await incident.json<Found>(['find', '--where', '/to=+494713', '--topics', '--since', '1h'])
    expect(inTopic.messages).toMatchObject([{ from: incident.from, position: '2', state: 'done' }])
    await incident.send([{ id: '4799' }])
    const early = await incident.run(['find', '--text', '4799', '--topics'])
    expect(early).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/\/3 .* absent /) })
    expect(early.stderr).not.toContain('consume-once why')
    // Who has the wrong one of the two commands is told the other.
    const noPart = await incident.run(['find', 'order 18'])
    expect(noPart).toMatchObject({ exitCode: 1, stdout: '' })
    expect(noPart.stderr).toContain("If it is an ID or a key: npx consume-once why 'order 18'\n")
    const noId = await incident.run(['why', '494712', '--consumer', 'sms'])
    expect(noId).toMatchObject({ exitCode: 1, stdout: '' })
    expect(noId.stderr).toContain('If it is a part of the message: npx consume-once find 494712 --consumer sms\n')
    const named = await incident.json<Found>(['find', '494712', '--consumer', 'sms'])
    expect(named.messages).toMatchObject([{ key }])
    // By which field, and never for what.
    const { stdout: audit } = await incident.run(['audit', '--decision', 'search', '--json'])
    expect(JSON.parse(audit)).toMatchObject({
      entries: expect.arrayContaining([
        expect.objectContaining({ about: 'text', reason: 'searched dead letters' }),
        expect.objectContaining({
          consumer: `${incident.group}/sms`,
          about: '$message.payload#/tenant, $message.payload#/id',
          by: userInfo().username,
        }),
      ]),
    })
    expect(audit).not.toMatch(/4712|globex/)
    const lacking = await incident.run(['find', '--where', '/orderId=1'])
    expect(lacking.stderr).toContain('looked at 2; 2 lack a field of --where, or cannot be decoded')
    const some = await incident.json<Found>(['find', '--where', '/tenant=globex', '--limit', '1'])
    expect(some.messages).toHaveLength(1)

    // Its decoder asks a schema registry that does not run.
    const down = { registry: `http://127.0.0.1:${await freePort()}` }
    const undecoded = await incident.run(['find', '--where', '/to=+494712', '--json'], down)
    expect(undecoded.exitCode).toBe(4)
    expect(dataOf(undecoded)).toMatchObject({
      messages: [],
      problems: [{ code: 'DECODER_UNREACHABLE', text: expect.stringMatching(/ECONNREFUSED.*schema registry/) }],
    })
    const redrive = await incident.run(['redrive', 'sms', '--where', '/tenant=globex', '--dry-run'], down)
    expect(redrive).toMatchObject({
      exitCode: 4,
      stderr: expect.stringContaining('DECODER_UNREACHABLE: consumer "sms"'),
    })
    // Every reason that lies there, for --reason-is.
    const { reasons, reasonsThere } = await incident.redrive({ where: ['/id=4711'] })
    expect([reasons, reasonsThere]).toEqual([{ 'handler-failed': 1 }, { 'handler-failed': 2 }])
    const preview = await incident.run(['redrive', 'sms', '--where', '/id=4711', '--dry-run'])
    expect(preview.stdout).toMatch(/^to redrive +1 [^]*^reason handler-failed: 2, 1 to redrive$/m)
  })

  it('says which broker gave no answer: exit 4', async () => {
    await using incident = await Incident.on('kafka', 'redis', { partitions: 1 })
    const away = { broker: { kafka: ['127.0.0.1:1'], topic: incident.place } }
    const run = await incident.run(['find', '--text', '4711', '--json'], away, AS_PROCESS)
    expect(run.exitCode).toBe(4)
    expect(dataOf(run)).toMatchObject({ messages: [], problems: [{ code: 'BROKER_UNREACHABLE' }] })
  })
})

describeRabbit('consume-once find, on RabbitMQ', () => {
  it('finds a dead letter in its queue, and hands every message back', async () => {
    await using incident = await Incident.on('rabbitmq', 'postgres')
    await incident.send(SENT)
    await incident.live(incident.hasEffectsAndDeadLetters(1, 2), { bugFor: 'globex' })
    const queue = `${incident.place}.dead-letter`
    const untilBack = (): Promise<void> => eventually(async () => (await incident.rabbit?.ready(queue)) === 2)
    await untilBack()
    for (const how of [
      ['--where', '/to=+494711'],
      ['--where', '$message.header#/id=4711'],
      ['--text', '+494711', '--since', '1h'],
    ]) {
      const { messages, looked } = await incident.json<Found>(['find', ...how])
      expect(messages).toMatchObject([{ from: `rabbitmq:${queue}`, state: 'given-up', reason: 'handler-failed' }])
      expect(looked).toMatchObject([
        { looked: 2, warnings: [expect.stringContaining('redelivered flag'), expect.anything()] },
      ])
      await untilBack()
    }
    expect(await incident.rabbit?.takeLeft(queue)).toHaveLength(2)
  })
})

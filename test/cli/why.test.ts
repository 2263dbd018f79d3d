// From what a person has in hand to the record, the provider's key, the dead letter, and the next command.
import { describe, expect, it, jest } from '@jest/globals'
import { AS_PROCESS, dataOf, WITHIN_MS } from '../kit/cli-process.ts'
import { backends } from '../kit/backends.ts'
import { eventually } from '../kit/eventually.ts'
import { Incident, sms } from '../replay/incident.ts'

jest.setTimeout(WITHIN_MS)

interface Why {
  readonly found: readonly {
    readonly record: { readonly key: string; readonly state: string; readonly idempotency_key?: string }
    readonly dead_letters: readonly Readonly<Record<string, unknown>>[]
    readonly decisions: readonly unknown[]
    readonly next: readonly { readonly about: string; readonly command: string }[]
  }[]
  readonly looked: readonly { readonly from: string; readonly looked: number; readonly warnings: readonly string[] }[]
}

const describeKafka = backends.has('kafka') && backends.has('redis') ? describe : describe.skip
const describeRabbit = backends.has('rabbitmq') && backends.has('postgres') ? describe : describe.skip

/** The words of a command that is printed for a shell, with its reason, and confirmed. */
function typed(command = ''): string[] {
  return command.replace('npx consume-once ', '').replace('--reason WHY', '--yes --reason OPS-812').split(' ')
}

describeKafka('consume-once why, on Kafka and Redis', () => {
  it('tells where the dead letter lies, the key of the provider, and the command that sends it back', async () => {
    await using incident = await Incident.on('kafka', 'redis', { partitions: 1 })
    await incident.send([{ id: 'fine' }, { id: 'broken', tenant: 'globex' }, { id: 'fine', tenant: 'another' }])
    await incident.live(incident.hasEffectsAndDeadLetters(1, 2), { bugFor: 'globex' })
    const text = await incident.run(['why', 'broken'], {}, AS_PROCESS)
    expect(text.exitCode).toBe(0)
    expect(text.stdout).toMatch(/^\S+\/sms: given-up: It failed without an effect/)
    expect(text.stdout).toMatch(/^ {2}idempotency key +[\w-]{43}$/m)
    expect(text.stdout).toMatch(
      new RegExp(
        `^  dead letter +kafka:${incident.place}\\.dead-letter/0/\\d, \\S+Z \\(\\d+ m?s ago\\), a dead letter, given up by \\S+/sms \\(handler-failed\\), \\d+ bytes$`,
        'm',
      ),
    )
    expect(text.stdout + text.stderr).not.toContain('globex')

    const { found, looked } = await incident.json<Why>(['why', 'broken'])
    expect(looked).toMatchObject([{ from: `${incident.from}.dead-letter`, looked: 2, of: 2, warnings: [] }])
    const [known] = found
    expect(known?.dead_letters).toEqual([expect.objectContaining({ reason: 'handler-failed', conflict: false })])
    const { key, idempotency_key: provider } = known?.record ?? {}
    expect(known?.dead_letters[0]).toMatchObject({ idempotency_key: provider })

    for (const given of [`${provider}`, `${provider}-3`])
      expect((await incident.json<Why>(['why', given])).found).toMatchObject([{ record: { key } }])

    // The key alone tells the rest, and the ID only where the consumer has it in its logs.
    const byKey = (await incident.json<Why>(['why', key ?? ''])).found
    expect(byKey).toMatchObject([{ record: { key, idempotency_key: provider } }])
    expect(byKey[0]?.dead_letters[0]).not.toHaveProperty('id')
    expect(byKey[0]?.next.map(({ command }) => command).join('\n')).not.toContain('broken')
    const withIds = (await incident.json<Why>(['why', key ?? ''], { logIds: true })).found
    expect(withIds[0]?.dead_letters).toMatchObject([{ id: 'broken' }])
    expect(withIds[0]?.next.map(({ command }) => command).join('\n')).toContain(
      'npx consume-once redrive sms broken --reason WHY',
    )

    // A list looks for all of them at once.
    const { records } = await incident.json<{ records: unknown }>(['inspect', 'sms', '--given-up', '--dead-letters'])
    expect(records).toMatchObject([{ key, idempotency_key: provider, dead_letters: [{ reason: 'handler-failed' }] }])
    const list = await incident.run(['inspect', 'sms', '--given-up', '--dead-letters'], { logIds: true })
    expect(list.stdout).toMatch(
      new RegExp(`^broken +${key} .* ${incident.from}\\.dead-letter/0/\\d +${provider}$`, 'm'),
    )
    expect(list.stderr).toContain('npx consume-once redrive sms broken --reason WHY')

    const conflict = await incident.run(['why', 'fine'])
    expect(conflict.stdout).toMatch(
      /\/sms: done: [^]*\(conflict\)[^]*ANOTHER message with the same ID\n[^]*Do not forget/,
    )

    // By the place of its dead letter, and by that of the message itself.
    const [, place = ''] = /dead letter +kafka:(\S+),/.exec(text.stdout) ?? []
    for (const given of [place, `kafka:${place}`, place.replaceAll('/', ':'), `${incident.place}/0/1`]) {
      const byPlace = (await incident.json<Why>(['why', given])).found
      expect(byPlace).toMatchObject([{ record: { key, idempotency_key: provider }, dead_letters: [{}] }])
    }
    const byProvider = await incident.run(['redrive', 'sms', '--dry-run', '--key', `${provider}-1`])
    expect(byProvider.stdout).toMatch(/^to redrive +1 [^]*^filtered +1 /m)

    const back = byKey[0]?.next.find(({ command }) => command.includes(' redrive '))
    const redriven = await incident.run(typed(back?.command))
    expect(redriven).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^redriven +1 [^]*^filtered +1 /m) })
    const [after] = (await incident.json<Why>(['why', 'broken'])).found
    expect(after).toMatchObject({
      record: { state: 'released' },
      decisions: [{ decision: 'reopen', before: 'given-up', reason: expect.stringMatching(/^redrive-\w+: OPS-812$/) }],
    })
    const absent = 'x'.repeat(22)
    const keys = incident.cli.file('keys.txt', `${absent}\n`)
    const none = await incident.run(['redrive', 'sms', '--dry-run', '--keys-from', keys])
    expect(none).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining(`No dead letter there has this ID or key: ${absent}`),
    })
    const confirmed = ['--reason', 'OPS-812', '--yes']
    const again = await incident.run(['redrive', 'sms', 'broken', 'nobody', ...confirmed])
    expect(again).toMatchObject({
      exitCode: 1,
      stdout: expect.stringMatching(/^redriven +1 /m),
      stderr: expect.stringContaining('has this ID or key: 1 of 2 messages: nobody'),
    })
    const byId = await incident.run(['redrive', 'sms', '--ids-from', '-', ...confirmed], {}, { stdin: 'nobody\n' })
    expect(byId).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('IDs: 0 of 1 found') })
    expect(byId.stdout).toMatch(/^redrive, nothing to send back: /)
    expect(byId.stdout + byId.stderr).not.toMatch(/dry run|Each dead letter/)
    const stores = await incident.json<Why>(['why', 'broken', '--no-dead-letters'])
    expect(stores).toMatchObject({ looked: [], found: [{ dead_letters: [] }] })
  })

  it('tells what it knows while the broker is away: exit 4', async () => {
    await using incident = await Incident.on('kafka', 'redis', { partitions: 1 })
    await incident.send([{ id: 'broken', tenant: 'globex' }])
    await incident.live(incident.hasEffectsAndDeadLetters(0, 1), { bugFor: 'globex' })
    const away = { broker: { kafka: ['127.0.0.1:1'], topic: incident.place } }
    const run = await incident.run(['why', 'broken', '--json'], away)
    expect(run.exitCode).toBe(4)
    expect(dataOf(run)).toMatchObject({
      found: [{ record: { state: 'given-up' }, dead_letters: [] }],
      problems: [{ code: 'BROKER_UNREACHABLE' }],
    })
  })
})

describeRabbit('consume-once why, on RabbitMQ and Postgres', () => {
  it('finds the dead letter in its queue, says what the look costs, and hands every message back', async () => {
    await using incident = await Incident.on('rabbitmq', 'postgres')
    const ids = sms(6, 'g', 'globex')
    const queue = `${incident.place}.dead-letter`
    const untilBack = (): Promise<void> => eventually(async () => (await incident.rabbit?.ready(queue)) === ids.length)
    await incident.send(ids)
    await incident.live(incident.hasEffectsAndDeadLetters(0, ids.length), { bugFor: 'globex' })
    await untilBack()
    const { found, looked } = await incident.json<Why>(['why', 'g3'])
    expect(found).toMatchObject([
      {
        record: { state: 'given-up', idempotency_key: expect.stringMatching(/^[\w-]{43}$/) },
        dead_letters: [{ from: `rabbitmq:${queue}`, reason: 'handler-failed' }],
        next: [
          { command: expect.stringContaining(' resolve ') },
          { command: expect.stringContaining('redrive sms g3 --reason WHY') },
        ],
      },
    ])
    expect(found[0]?.dead_letters[0]).not.toHaveProperty('position')
    expect(looked).toMatchObject([{ from: `rabbitmq:${queue}`, looked: 6 }])
    expect(looked[0]?.warnings.join('\n')).toContain('redelivered flag')
    await untilBack()
    const text = await incident.run(['why', 'g3'], {}, AS_PROCESS)
    expect(text.stdout).toContain(`dead letter      rabbitmq:${queue}, `)
    expect(text.stderr).toContain('hands them back')
    await untilBack()

    // After a rename of the queue; only with its former name in `scope` is it the same consumer.
    const renamed = { broker: { amqp: incident.rabbit?.url ?? '', queue: incident.rabbit?.name() ?? '' } }
    await incident.rabbit?.declare(`${renamed.broker.queue}.dead-letter`)
    const stray = ['redrive', 'sms', '--dry-run', '--from', `rabbitmq:${queue}`, '--treat-unknown-as', 'handle']
    const refused = await incident.run(stray, renamed, AS_PROCESS)
    expect(refused.stdout).toContain(`from ${incident.place}: 6; send back by --allow-destination=${incident.place}`)
    await untilBack()
    const scoped = { ...renamed, scope: { queue: incident.place } }
    const [known] = (await incident.json<Why>(['why', 'g3'], scoped)).found
    expect(known).toMatchObject({ dead_letters: [{ from: `rabbitmq:${queue}` }] })
    await untilBack()
    const dry = await incident.run(['redrive', 'sms', 'g3', '--dry-run'], scoped)
    expect(dry).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(`to ${renamed.broker.queue}: 1`) })
    await untilBack()
    const left = await incident.rabbit?.takeLeft(queue)
    expect(left).toHaveLength(ids.length)
  })
})

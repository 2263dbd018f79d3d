import { openedOnce } from '../kit/opened.ts'
import { eventually } from '../kit/eventually.ts'
import { Watching } from '../kit/recording-intake.ts'
import { describe, expect, it } from '@jest/globals'
import { ConfigResourceTypes } from 'kafkajs'
import { runKafka, type KafkaOptions } from '../../adapters/kafkajs/index.ts'
import { defineConsumer, type ConsumerOptions, type Running } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { uniqueName } from '../kit/namespace.ts'
import { Cluster, FAST } from './kit.ts'
import { stoppedAfterEach } from '../kit/after-each.ts'

let cluster: Cluster
const started = stoppedAfterEach<Running>({ deadlineMs: 100 })

openedOnce(Cluster, (made) => (cluster = made))

interface Payload {
  readonly id: string
}
type Options = ConsumerOptions<Payload, Payload, never>
/** Shorter than anything that is waited for below. */
const SHORT_SESSION: NonNullable<KafkaOptions['consumerConfig']> = { ...FAST.consumerConfig, sessionTimeout: 1_000 }

async function start(
  options: KafkaOptions,
  settings: Partial<Options>,
): Promise<{ readonly running: Running; readonly watching: Watching }> {
  const watching = new Watching()
  const consumer = defineConsumer({
    name: 'sms',
    id: ({ payload }: { payload: Payload }) => payload.id,
    store: memoryStore(),
    handle: () => {},
    backoff: { initialMs: 5, maxMs: 20 },
    graceMs: 100,
    observe: watching.observe,
    ...settings,
  } as Options)
  const running = await runKafka(cluster.kafka(), consumer, { ...FAST, consumerConfig: SHORT_SESSION, ...options })
  started.push(running)
  return { running, watching }
}

const body = (id: string): string => JSON.stringify({ id })
const NUMBERS = Array.from({ length: 300 }, (_, index) => String(index))

const expectNothingCommitted = async (groupId: string, topic: string): Promise<void> => {
  expect(Math.max(...(await cluster.committed(groupId, topic)))).toBeLessThanOrEqual(0)
}

describe('a message that is not finished for long', () => {
  it('because its handler never ends: told, out of live, in doubt, and run again; the others go on', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const runs: string[] = []
    const handle: Options['handle'] = async ({ payload: { id }, attempt, signal }) => {
      runs.push(`${id} ${attempt}`)
      if (id === 'stuck' && attempt === 1) await new Promise<void>(() => signal.aborted)
    }
    await cluster.send(topic, ['stuck', ...NUMBERS].map(body))
    const short = { leaseMs: 600, handlerTimeoutMs: 300, graceMs: 100 }
    const { running, watching } = await start({ topics: [topic], group: groupId }, { handle, ...short })
    await watching.until(() => watching.ended('handled') === NUMBERS.length)
    await watching.until(() => watching.events.some(({ type }) => type === 'stuck'))
    expect(running.health()).toMatchObject({ live: false, checks: { handlers: '1 stuck' } })
    await expectNothingCommitted(groupId, topic)

    await cluster.untilCommitted(groupId, topic, [NUMBERS.length + 1])
    expect(runs.filter((run) => run.startsWith('stuck'))).toEqual(['stuck 1', 'stuck 2'])
    expect(watching.events.some(({ type }) => type === 'in-doubt')).toBe(true)
    expect(watching.told('group-joined')).toBe(1)
  })

  it('because another owner has it: held in its lane, not settled, and no attempt is spent', async () => {
    const [topic, theirTopic] = [await cluster.topic(), await cluster.topic()]
    const [store, scope] = [memoryStore(), uniqueName('scope')]
    const [theirs, ours] = [uniqueName('group'), uniqueName('group')]
    let end: (() => void) | undefined
    const busy = new Promise<void>((resolve) => (end = resolve))
    for (const each of [theirTopic, topic]) await cluster.send(each, [body('busy')])
    const shared = { store, scope, leaseMs: 300, maxInFlight: 100 }
    const other = await start({ topics: [theirTopic], group: theirs }, { ...shared, handle: () => busy })
    await other.watching.until(() => other.watching.events.some(({ type }) => type === 'claims'))

    const handled: string[] = []
    const handle: Options['handle'] = ({ payload }) => handled.push(payload.id)
    const { running, watching } = await start({ topics: [topic], group: ours }, { ...shared, handle })
    await cluster.send(topic, NUMBERS.map(body))
    await watching.until(() => watching.ended('handled') === NUMBERS.length)
    // Long after its first lease would have ended, and longer than the session.
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    await expectNothingCommitted(ours, topic)
    expect(running.health()).toMatchObject({ live: true, ready: true, checks: { handlers: '1 in flight' } })
    end?.()
    await cluster.untilCommitted(ours, topic, [NUMBERS.length + 1])
    expect(handled).not.toContain('busy')
    expect(watching.ended('duplicate')).toBe(1)
    expect(watching.events.some(({ type }) => type === 'in-doubt')).toBe(false)
    expect([watching.told('group-joined'), other.watching.told('group-joined')]).toEqual([1, 1])
  })

  it('because its dead letter is refused: told, asked again, not settled; and it gets through once it can', async () => {
    const [topic, dead] = [await cluster.topic(), await cluster.topic(1, { 'max.message.bytes': '2000' })]
    const groupId = uniqueName('group')
    const large = JSON.stringify({ id: 'bad', text: 'x'.repeat(4_000) })
    await cluster.send(topic, [large, ...NUMBERS.map(body)])
    const { running, watching } = await start(
      { topics: [topic], group: groupId, deadLetter: { topic: dead } },
      {
        maxAttempts: 1,
        handle: ({ payload }) => {
          if (payload.id === 'bad') throw new Error('no')
        },
      },
    )
    const failures = (): number => watching.events.filter(({ type }) => type === 'publish-failed').length
    await watching.until(() => failures() >= 2 && watching.ended('handled') === NUMBERS.length)
    await expectNothingCommitted(groupId, topic)
    expect(running.health()).toMatchObject({ live: true, checks: { handlers: '1 in flight' } })

    const configEntries = [{ name: 'max.message.bytes', value: '20000' }]
    const resources = [{ type: ConfigResourceTypes.TOPIC, name: dead, configEntries }]
    await cluster.admin.alterConfigs({ validateOnly: false, resources })
    await cluster.untilCommitted(groupId, topic, [NUMBERS.length + 1])
    const deadLetters = await cluster.read(dead, 1)
    expect(deadLetters.map(({ value }) => String(value))).toEqual([large])
    await eventually(async () => watching.ended('dead-lettered') === 1)
  })
})

import { openedOnce } from '../kit/opened.ts'
import { eventually } from '../kit/eventually.ts'
import { Watching } from '../kit/recording-intake.ts'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from '@jest/globals'
import { runKafka } from '../../adapters/kafkajs/index.ts'
import { defineConsumer, type ConsumerOptions } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { uniqueName } from '../kit/namespace.ts'
import { Cluster, FAST } from './kit.ts'

let cluster: Cluster

openedOnce(Cluster, (made) => (cluster = made))

interface Payload {
  readonly id: string
}
type Options = ConsumerOptions<Payload, Payload, never>

const IDS = ['1', '2', '3', '4', '5', '6', '7']

/** Runs a consumer over one topic until it has committed a message with each of `IDS`, and gives what it told. */
async function consume(options: Partial<Options>): Promise<Watching & { readonly topic: string }> {
  const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
  const watching = Object.assign(new Watching(), { topic })
  const consumer = defineConsumer({
    name: 'sms',
    id: ({ payload }: { payload: Payload }) => payload.id,
    store: memoryStore(),
    handle: () => {},
    backoff: { initialMs: 5, maxMs: 20 },
    observe: watching.observe,
    ...options,
  } as Options)
  const running = await runKafka(cluster.kafka(), consumer, { ...FAST, topics: [topic], group: groupId })
  try {
    for (const [index, id] of IDS.entries()) await cluster.send(topic, [JSON.stringify({ id })], index % 2)
    await cluster.untilCommitted(groupId, topic, [4, 3])
    expect(running.health()).toMatchObject({ live: true, ready: true })
  } finally {
    await running.stop()
  }
  return watching
}

/** Same consumer, same membership: nothing of it has reached kafkajs. */
function expectUnharmed(watching: Watching): void {
  expect([watching.told('group-joined'), watching.told('connection-lost'), watching.told('adapter-error')]).toEqual([
    1, 0, 0,
  ])
}

describe('a handler that fails once for each of seven messages', () => {
  const refusal = Object.assign(new Error('from a producer of the user'), {
    type: 'UNKNOWN_MEMBER_ID',
    retriable: true,
  })

  it.each<[string, unknown]>([
    ['a TypeError', new TypeError('a mistake')],
    ['a RangeError', new RangeError('a mistake')],
    ['a ReferenceError', new ReferenceError('a mistake')],
    ['a SyntaxError', new SyntaxError('a mistake')],
    ['an error that looks like one of the broker', refusal],
    ['nothing at all', undefined],
    ['an object without a prototype', Object.create(null)],
  ])('by rejecting with %s keeps its consumer alive (K3, K5, K6)', async (_what, reason) => {
    const failed = new Set<string>()
    const watching = await consume({
      handle: async ({ payload }) => {
        await turn()
        if (failed.has(payload.id)) return
        failed.add(payload.id)
        await Promise.reject(reason)
      },
    })
    expect(failed.size).toBe(IDS.length)
    expect(watching.ended('handled')).toBe(IDS.length)
    expectUnharmed(watching)
  })

  it('and throws for ever for one of them lets the others of its partition and all other partitions go on (K6)', async () => {
    const watching = await consume({
      maxAttempts: 3,
      handle: ({ payload }) => {
        if (payload.id === '3') throw new TypeError('a mistake')
      },
    })
    expect([watching.ended('handled'), watching.ended('dead-lettered')]).toEqual([6, 1])
    expectUnharmed(watching)
  })
})

const broken = (): never => {
  throw new TypeError('a mistake')
}

describe("what else is the user's and throws", () => {
  it.each<[string, Partial<Options>, 'handled' | 'dead-lettered']>([
    ['the ID extractor', { id: broken }, 'dead-lettered'],
    ['the decoder', { decode: broken, id: ({ value }) => value ?? undefined }, 'dead-lettered'],
    ['the log', { log: { debug: broken, info: broken, warn: broken, error: broken } }, 'handled'],
    [
      'the schema',
      {
        payloadSchema: {
          '~standard': { version: 1, vendor: 'test', validate: () => Promise.reject(new TypeError('no')) },
        },
      },
      'dead-lettered',
    ],
  ])('%s: the consumer goes on', async (_what, options, outcome) => {
    const watching = await consume(options)
    expect(watching.ended(outcome)).toBe(IDS.length)
    expectUnharmed(watching)
  })

  it('the name of a dead-letter topic: its message waits, visibly, and is not lost', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const watching = new Watching()
    let isStarted = false
    const consumer = defineConsumer<Payload>({
      name: 'sms',
      id: ({ payload }) => payload.id,
      store: memoryStore(),
      maxAttempts: 1,
      handle: broken,
      observe: watching.observe,
    })
    const running = await runKafka(cluster.kafka(), consumer, {
      ...FAST,
      topics: [topic],
      group: groupId,
      deadLetter: {
        topic: (origin) => {
          if (isStarted && watching.events.every(({ type }) => type !== 'publish-failed')) broken()
          return `${origin}.dead-letter`
        },
      },
    })
    try {
      isStarted = true
      await cluster.send(topic, [JSON.stringify({ id: '1' })])
      await cluster.untilCommitted(groupId, topic, [1])
      await eventually(async () => watching.ended('dead-lettered') === 1)
      expect(await cluster.read(`${topic}.dead-letter`, 1)).toHaveLength(1)
      expectUnharmed(watching)
    } finally {
      await running.stop()
    }
  })
})

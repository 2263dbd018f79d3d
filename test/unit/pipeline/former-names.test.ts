import { describe, expect, it } from '@jest/globals'
import { problemsOfFormerPlaces } from '../../../src/consumer/former-names.ts'
import { ConfigError, defineConsumer, runInline, type ConsumerSettings, type Store } from '../../../src/index.ts'
import { memoryStore } from '../../../src/memory/index.ts'
import { testMessage } from '../../../testing/index.ts'

type Scope = ConsumerSettings<unknown, unknown, never>['scope']

function problemsOf(scope: unknown, store: Store = memoryStore()): readonly string[] {
  try {
    defineConsumer({ name: 'sms', store, scope: scope as NonNullable<Scope>, handle: () => {} })
    return []
  } catch (error) {
    return (error as ConfigError).problems
  }
}

describe('former names of a consumer', () => {
  it('that cannot be meant are refused', () => {
    expect([
      problemsOf({}),
      problemsOf({ name: '' }),
      problemsOf({ origin: 'sms' }),
      problemsOf({ group: 'a', queue: 'b' }),
      problemsOf({ topics: {} }),
      problemsOf({ topics: ['sms'] }),
      problemsOf({ topics: { sms: 7 } }),
      problemsOf(7),
    ]).toMatchInlineSnapshot(`
[
  [
    "consumer "sms": scope: expected text, or at least one of name, group, topics, queue, got none of them",
  ],
  [
    "consumer "sms": scope.name: expected text, got """,
  ],
  [
    "consumer "sms": scope.origin: say topics: { 'present name': 'former name' }, or queue",
  ],
  [
    "consumer "sms": scope: expected group and topics (Kafka), or queue (RabbitMQ), got both",
  ],
  [
    "consumer "sms": scope.topics: expected former topics by their present names, such as { 'sms.v2': 'sms' }, got an object",
  ],
  [
    "consumer "sms": scope.topics: expected former topics by their present names, such as { 'sms.v2': 'sms' }, got a list of 1",
  ],
  [
    "consumer "sms": scope.topics: the former name of "sms": expected text, got 7",
  ],
  [
    "consumer "sms": scope: expected text or { name, group, topics, queue }, got 7",
  ],
]
`)
  })

  it('of topics are refused with positions, which are those of one topic', () => {
    const offsets = { strategy: 'offsets', claim: () => {}, positions: { next: () => {} } } as unknown as Store
    expect(problemsOf({ name: 'texts', group: 'sms' }, offsets)).toEqual([])
    expect(problemsOf({ topics: { 'sms.v2': 'sms' } }, offsets)).toEqual([
      'consumer "sms": scope.topics: leave it out with a store of strategy offsets: its positions are those of one topic',
    ])
  })

  it('that do not fit the broker are refused: the keys would be other ones than before', () => {
    const kafka = { system: 'kafka', origins: ['sms.v2', 'calls'] } as const
    const rabbit = { system: 'rabbitmq' } as const
    expect(problemsOfFormerPlaces({ name: 'a', group: 'b', topics: { 'sms.v2': 'sms' } }, kafka)).toEqual([])
    expect(problemsOfFormerPlaces({ name: 'a', queue: 'b' }, rabbit)).toEqual([])
    expect(problemsOfFormerPlaces('sms', kafka)).toEqual([])
    expect([
      ...problemsOfFormerPlaces({ queue: 'sms' }, kafka),
      ...problemsOfFormerPlaces({ topics: { sms: 'sms.v2' } }, kafka),
      ...problemsOfFormerPlaces({ topics: { 'sms.v2': 'sms', 'cals.v2': 'calls' } }, kafka),
      ...problemsOfFormerPlaces({ group: 'sms' }, rabbit),
      ...problemsOfFormerPlaces({ topics: { sms: 'texts' } }, rabbit),
    ]).toMatchInlineSnapshot(`
[
  "scope: expected group or topics on Kafka, got queue: { group: 'the former group' }",
  "scope.topics: expected topics as they are called now, of sms.v2, calls, got sms: { 'present name': 'former name' }",
  "scope.topics: expected topics as they are called now, of sms.v2, calls, got cals.v2: { 'present name': 'former name' }",
  "scope: expected queue on RabbitMQ, got group: { queue: 'the former queue' }",
  "scope: expected queue on RabbitMQ, got topics: { queue: 'the former queue' }",
]
`)
  })

  it('are those of its records, its idempotency keys and its scope', async () => {
    const store = memoryStore()
    const keys: string[] = []
    const of = (name: string, scope?: Scope): Parameters<typeof runInline>[0] =>
      defineConsumer({
        name,
        store,
        ...(scope && { scope }),
        handle: ({ idempotencyKey }) => void keys.push(idempotencyKey),
      })
    const message = testMessage({ id: 'order-17', payload: {} })
    expect((await runInline(of('sms'), { group: 'g' }).handle(message)).outcome).toBe('handled')
    expect((await runInline(of('texts', { name: 'sms' }), { group: 'g' }).handle(message)).outcome).toBe('duplicate')
    expect((await runInline(of('texts', { name: 'sms', group: 'g' }), { group: 'g.2' }).handle(message)).outcome).toBe(
      'duplicate',
    )
    expect((await runInline(of('texts'), { group: 'g' }).handle(message)).outcome).toBe('handled')
    expect(new Set(keys).size).toBe(2)
  })
})

import { openedOnce } from '../kit/opened.ts'
import { Watching } from '../kit/recording-intake.ts'
import { afterEach, describe, expect, it } from '@jest/globals'
import { runKafka } from '../../adapters/kafkajs/index.ts'
import { defineConsumer, type ObserverEvent } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { uniqueName } from '../kit/namespace.ts'
import { Cluster, FAST } from './kit.ts'

const DAY_MS = 86_400_000

let cluster: Cluster

openedOnce(Cluster, (made) => (cluster = made))
afterEach(() => cluster.closeSources())

async function windowOf(...retentions: readonly Readonly<Record<string, string>>[]): Promise<unknown> {
  const topics = await Promise.all(retentions.map((config) => cluster.topic(1, config)))
  const { source } = await cluster.open({ topics, group: uniqueName('group'), setup: 'off' })
  return source.redeliveryWindowMs?.()
}

describe('how long Kafka can deliver a message again', () => {
  it('is the largest retention of the topics', async () => {
    const days = [1, 3, 2].map((count) => ({ 'retention.ms': String(count * DAY_MS) }))
    expect(await windowOf(...days)).toBe(3 * DAY_MS)
  })

  it.each([
    ['a topic without retention', { 'retention.ms': '-1' }],
    ['a topic that is compacted and never deleted', { 'cleanup.policy': 'compact' }],
  ])('is for ever: %s', async (_, config) => {
    expect(await windowOf({ 'retention.ms': String(DAY_MS) }, config)).toBe('for-ever')
  })

  it('ends also where the topic is compacted and deleted', async () => {
    expect(await windowOf({ 'cleanup.policy': 'compact,delete', 'retention.ms': String(DAY_MS) })).toBe(DAY_MS)
  })

  it('is held against the retention of records, once, with the numbers', async () => {
    const topic = await cluster.topic(1, { 'retention.ms': String(3 * DAY_MS) })
    const watching = new Watching()
    const consumer = defineConsumer({
      name: 'consumer',
      store: memoryStore(),
      retentionMs: 2 * DAY_MS,
      handle: () => {},
      observe: watching.observe,
    })
    await using running = await runKafka(cluster.kafka(), consumer, {
      ...FAST,
      topics: [topic],
      group: uniqueName('group'),
      setup: 'off',
    })
    await watching.until(() => watching.told('retention-too-short') === 1)
    const [warning] = watching.events.filter(
      (event): event is Extract<ObserverEvent, { type: 'source' }> =>
        event.type === 'source' && event.event === 'retention-too-short',
    )
    expect(warning).toMatchObject({ isWarning: true, detail: expect.stringContaining('for 3 days') })
    expect(running.state).toBe('running')
  })
})

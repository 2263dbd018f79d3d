import { Kafka, logLevel } from 'kafkajs'
import { describe, expect, it } from '@jest/globals'
import { runRabbit } from '../../adapters/amqplib/index.ts'
import { redisLease } from '../../adapters/redis/index.ts'
import { runKafka } from '../../adapters/kafkajs/index.ts'
import { withDoneCache } from '../../adapters/lru-cache/index.ts'
import { mysqlInbox, mysqlLease } from '../../adapters/mysql2/index.ts'
import { postgresInbox, postgresLease, postgresOffsets } from '../../adapters/pg/index.ts'
import { defineConsumer, runInline } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { CANARY } from './output-recorder.ts'

const ADDRESS = `amqp://user:${CANARY}@127.0.0.1:1/orders`
const consumer = defineConsumer({ name: 'consumer', store: memoryStore(), handle: () => {} })

/** An address where a client, a name or a number was wanted; calls as people without types make them. */
const wrong = ADDRESS as never
const MISTAKES: readonly (readonly [string, () => unknown])[] = [
  ['postgresInbox', () => postgresInbox({ pool: wrong })],
  ['postgresInbox, unnamed', () => postgresInbox(wrong)],
  ['postgresInbox, as another option', () => postgresInbox({ pool: wrong, [ADDRESS]: 1 })],
  ['postgresLease', () => postgresLease({ pool: wrong })],
  ['postgresOffsets', () => postgresOffsets({ pool: wrong })],
  ['mysqlInbox', () => mysqlInbox({ pool: wrong })],
  ['mysqlLease', () => mysqlLease({ pool: wrong })],
  ['redisLease', () => redisLease({ redis: wrong })],
  ['redisLease, unnamed', () => redisLease(wrong)],
  ['withDoneCache', () => withDoneCache(wrong, { maxKeys: 1 })],
  ['defineConsumer, its store', () => defineConsumer({ name: 'a', store: wrong, handle: () => {} })],
  [
    'defineConsumer, its retention',
    () => defineConsumer({ name: 'a', store: memoryStore(), retentionMs: wrong, handle: () => {} }),
  ],
  [
    'defineConsumer, its policy',
    () => defineConsumer({ name: 'a', store: memoryStore(), onInDoubt: wrong, handle: () => {} }),
  ],
  ['runInline, its group', () => runInline(consumer, wrong)],
  ['runKafka, its client', () => runKafka(wrong, consumer, { topics: ['a'], group: 'a' })],
  [
    'runKafka, its options',
    () => runKafka(new Kafka({ brokers: ['127.0.0.1:1'], logLevel: logLevel.NOTHING }), consumer, wrong),
  ],
  ['runRabbit, no such scheme', () => runRabbit(ADDRESS.replace('amqp:', 'http:'), consumer, { queue: 'q' })],
  ['runRabbit, no port', () => runRabbit(ADDRESS.replace(':1/', ':x/'), consumer, { queue: 'q' })],
  ['runRabbit, nobody there', () => runRabbit(ADDRESS, consumer, { queue: 'q' })],
  ['runRabbit, its options', () => runRabbit(ADDRESS, consumer, wrong)],
]

describe('an error holds no password of an address: [T114]', () => {
  it.each(MISTAKES)('%s', async (_, make) => {
    const error = await Promise.resolve()
      .then(make)
      .then(
        () => undefined,
        (thrown: Error) => thrown,
      )
    expect(error).toBeInstanceOf(Error)
    expect(`${error?.message} ${JSON.stringify(error)} ${error?.stack}`).not.toContain(CANARY)
  })
})

import { describe, expect, it } from '@jest/globals'
import { Redis } from 'ioredis'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import { createClient } from 'redis'
import { rabbitSource } from '../../../adapters/amqplib/source-and-publisher.ts'
import { redisLease } from '../../../adapters/redis/index.ts'
import { kafkaSource } from '../../../adapters/kafkajs/client.ts'
import { withDoneCache } from '../../../adapters/lru-cache/index.ts'
import { mysqlInbox, mysqlLease } from '../../../adapters/mysql2/index.ts'
import { pgliteInbox, postgresInbox, postgresLease, postgresOffsets } from '../../../adapters/pg/index.ts'
import { ConfigError, defineConsumer } from '../../../src/index.ts'
import { memoryStore } from '../../../src/memory/index.ts'
import { ScriptedKafka } from '../../kafka/scripted.ts'
import { CONFIGURATIONS, type Target } from '../../../lab/hostile/configuration.ts'

type Options = Readonly<Record<string, unknown>>

/** Good options, and under them those of an entry. Nothing is opened. */
const TARGETS: Readonly<Record<Target, (options: Options) => unknown>> = {
  defineConsumer: (options) => defineConsumer({ name: 'hostile', store: memoryStore(), handle: () => {}, ...options }),
  postgresInbox: (options) => postgresInbox({ pool: new Pool(), ...options }),
  postgresLease: (options) => postgresLease({ pool: new Pool(), ...options }),
  postgresOffsets: (options) => postgresOffsets({ pool: new Pool(), ...options }),
  pgliteInbox: (options) =>
    pgliteInbox({ pglite: { query: () => {}, transaction: () => {}, exec: () => {} }, ...options } as never),
  mysqlInbox: (options) => mysqlInbox({ pool: createPool({ database: 'orders' }), ...options }),
  mysqlLease: (options) => mysqlLease({ pool: createPool({ database: 'orders' }), ...options }),
  'redisLease of ioredis': (options) => redisLease({ redis: new Redis({ lazyConnect: true }), ...options }),
  'redisLease of node-redis': (options) => redisLease({ redis: createClient(), ...options }),
  withDoneCache: (options) => withDoneCache(memoryStore(), { maxKeys: 10, ...options }),
  runKafka: (options) => kafkaSource(new ScriptedKafka(), { topics: ['t'], group: 'g', ...options }),
  runRabbit: (options) => rabbitSource('amqp://localhost', { queue: 'orders', ...options }),
}

describe.each(Object.entries(TARGETS))('hostile options of %s', (target, make) => {
  it('are not the good ones', () => {
    expect(() => make({})).not.toThrow()
  })

  it.each(CONFIGURATIONS.filter((entry) => entry.target === target))('are refused: $name', ({ options, blames }) => {
    const problems = problemsOf(() => make(options))
    expect(problems.filter((problem) => new RegExp(`(?:^|[^\\w])${blames}(?:\\[|:)`).test(problem))).not.toEqual([])
  })
})

function problemsOf(make: () => unknown): readonly string[] {
  try {
    make()
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

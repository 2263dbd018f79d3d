import { describe, expect, it } from '@jest/globals'
import { Redis } from 'ioredis'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import { createClient } from 'redis'
import { redisLease } from '../../../adapters/redis/index.ts'
import { withDoneCache } from '../../../adapters/lru-cache/index.ts'
import { mysqlInbox, mysqlLease } from '../../../adapters/mysql2/index.ts'
import {
  pgliteInbox,
  pgliteLease,
  postgresInbox,
  postgresInboxSequences,
  postgresLease,
  postgresOffsets,
  postgresSequences,
} from '../../../adapters/pg/index.ts'
import { ConfigError } from '../../../src/index.ts'
import { memoryStore } from '../../../src/memory/store.ts'

type Bad = Readonly<Record<string, unknown>>

const OF_REDIS: Bad = {
  redis: {},
  prefix: null,
  shards: '16',
  timeoutMs: '2000',
  durability: 'disk',
  marks: 'first',
  prefx: 'co',
}
const OF_POSTGRES: Bad = {
  pool: 'postgres://',
  schema: null,
  setup: true,
  lockTimeoutMs: '1',
  queryTimeoutMs: null,
  shema: 'a',
}
const OF_MYSQL: Bad = {
  pool: {},
  database: 7,
  setup: null,
  lockTimeoutMs: -1,
  queryTimeoutMs: Number.NaN,
  schema: 'a',
}
const IDLE: Bad = { idleInTransactionTimeoutMs: null }

/** Each with its option that must be given, and options of which each is wrong. */
const STORES: readonly (readonly [string, (options: never) => unknown, string, Bad])[] = [
  ['redisLease', redisLease, 'redis', OF_REDIS],
  ['postgresInbox', postgresInbox, 'pool', { ...OF_POSTGRES, ...IDLE, statementTimeoutMs: 0, durability: 'fsync' }],
  [
    'postgresOffsets',
    postgresOffsets,
    'pool',
    { ...OF_POSTGRES, ...IDLE, statementTimeoutMs: 0, durability: 'commit' },
  ],
  ['postgresLease', postgresLease, 'pool', { ...OF_POSTGRES, ...IDLE }],
  [
    'postgresInboxSequences',
    postgresInboxSequences,
    'pool',
    { ...OF_POSTGRES, ...IDLE, statementTimeoutMs: 0, durability: 'fsync' },
  ],
  ['pgliteInbox', pgliteInbox, 'db', { db: null, schema: 'A', setup: 'auto' }],
  ['pgliteLease', pgliteLease, 'db', { db: {}, schema: 7, lockTimeoutMs: 1 }],
  ['mysqlInbox', mysqlInbox, 'pool', { ...OF_MYSQL, ...IDLE }],
  ['mysqlLease', mysqlLease, 'pool', { ...OF_MYSQL, ...IDLE }],
  ['withDoneCache', (options: never) => withDoneCache(memoryStore(), options), 'max', { max: 0, ttlMs: null, ttl: 1 }],
]

it.each<readonly [string, (options: never) => unknown, string, () => unknown]>([
  ['redisLease of ioredis', redisLease, 'redis', () => new Redis({ lazyConnect: true })],
  ['redisLease of node-redis', redisLease, 'redis', () => createClient()],
  ['postgresInbox', postgresInbox, 'pool', () => new Pool()],
  ['postgresOffsets', postgresOffsets, 'pool', () => new Pool()],
  ['postgresLease', postgresLease, 'pool', () => new Pool()],
  ['postgresSequences', postgresSequences, 'pool', () => new Pool()],
  ['postgresInboxSequences', postgresInboxSequences, 'pool', () => new Pool()],
  ['mysqlInbox', mysqlInbox, 'pool', () => createPool({})],
  ['mysqlLease', mysqlLease, 'pool', () => createPool({})],
])('%s has one problem with a client in place of its options', (_, create, name, client) => {
  const problem = expect.stringMatching(new RegExp(`\\b${name}: expected options, .*itself$`))
  expect(() => create(client() as never)).toThrow(expect.objectContaining({ problems: [problem] }))
})

it.each([
  [undefined, 'undefined'],
  [null, 'null'],
  ['redis://:secret@localhost', 'string'],
  [
    { eval: () => {} },
    'an object without the methods evalsha, call, pipeline (of ioredis) and without evalSha, multi, withTypeMapping (of node-redis)',
  ],
])('redisLease tells of a client %j what is missing', (redis, got) => {
  expect(() => redisLease({ redis } as never)).toThrow(`redis: expected a client of ioredis or node-redis, got ${got}`)
})

describe.each(STORES)('%s', (_, create, needed, bad) => {
  const problemsOf = (options: unknown): readonly string[] => {
    try {
      create(options as never)
    } catch (error) {
      if (error instanceof ConfigError) return error.problems
      throw error
    }
    return []
  }

  it('tells each problem of its options, unknown names too, in one error', () => {
    const names = problemsOf(bad).map((problem) => /(\w+): (?:expected|unknown option)/.exec(problem)?.[1])
    expect(names).toEqual(expect.arrayContaining(Object.keys(bad)))
  })

  it.each([undefined, null, {}, 'redis://localhost', 7])('tells what it needs when it is given %j', (nothing) => {
    expect(problemsOf(nothing).join('\n')).toMatch(new RegExp(`\\b${needed}: expected`))
  })

  it('takes undefined for not given', () => {
    const options = Object.fromEntries(Object.keys(bad).map((name) => [name, undefined]))
    const known = problemsOf(options).filter((problem) => !problem.includes('unknown option'))
    expect(known).toEqual([expect.stringMatching(new RegExp(`\\b${needed}: expected`))])
  })
})

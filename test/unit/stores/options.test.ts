import { expect, it } from '@jest/globals'
import { Redis } from 'ioredis'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import { createClient } from 'redis'
import { redisLease } from '../../../adapters/redis/index.ts'
import { mysqlInbox, mysqlLease } from '../../../adapters/mysql2/index.ts'
import {
  postgresInbox,
  postgresInboxSequences,
  postgresLease,
  postgresOffsets,
  postgresSequences,
} from '../../../adapters/pg/index.ts'

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

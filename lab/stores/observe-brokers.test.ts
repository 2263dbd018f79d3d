import { afterAll, describe, expect, it, jest } from '@jest/globals'
import { Redis } from 'ioredis'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import { runRabbit } from '../../adapters/amqplib/index.ts'
import { runKafka } from '../../adapters/kafkajs/index.ts'
import { mysqlLease } from '../../adapters/mysql2/index.ts'
import { postgresLease } from '../../adapters/pg/index.ts'
import { redisLease } from '../../adapters/redis/index.ts'
import {
  defineConsumer,
  messageId,
  observedReport,
  type Consumer,
  type ConsumerSettings,
  type Running,
  type Store,
} from '../../src/index.ts'
import { Cli } from '../../test/kit/cli-process.ts'
import { Cluster, FAST } from '../../test/kafka/kit.ts'
import { backends } from '../../test/kit/backends.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { Watching } from '../../test/kit/recording-intake.ts'
import type { PrivateInstance } from '../../test/kit/servers/private-instance.ts'
import { startPrivateMariadb } from '../../test/kit/servers/private-mariadb.ts'
import { startPrivatePostgres } from '../../test/kit/servers/private-postgres.ts'
import { startPrivateRedis } from '../../test/kit/servers/private-redis.ts'
import { Rabbit } from '../../test/rabbitmq/rabbit.ts'
import { closedAfterEach } from '../../test/kit/after-each.ts'

jest.setTimeout(240_000)

const closing = closedAfterEach()

interface Broker {
  readonly group: string
  readonly send: (...ids: readonly string[]) => Promise<void>
  readonly run: (consumer: Consumer) => Promise<Running>
  readonly origin: string
}

async function kafka(): Promise<Broker> {
  const cluster = await Cluster.open()
  closing.push(() => cluster[Symbol.asyncDispose]())
  const [topic, group] = [await cluster.topic(), uniqueName('group')]
  const send: Broker['send'] = (...ids) =>
    cluster.send(
      topic,
      ids.map((id) => ({ value: '{}', headers: { id } })),
    )
  const run: Broker['run'] = (consumer) => runKafka(cluster.client(), consumer, { ...FAST, topics: [topic], group })
  return { group, origin: topic, send, run }
}

async function rabbitmq(): Promise<Broker> {
  const rabbit = await Rabbit.open()
  closing.push(() => rabbit[Symbol.asyncDispose]())
  const queue = rabbit.name()
  await rabbit.declare(queue)
  const send: Broker['send'] = async (...ids) => {
    for (const id of ids) await rabbit.send(queue, ['{}'], { headersOf: () => ({ id }) })
  }
  return { group: queue, origin: queue, send, run: (consumer) => runRabbit(rabbit.url, consumer, { queue }) }
}

type Server = PrivateInstance & { readonly url: string }

interface Kind {
  readonly backend: 'redis' | 'postgres' | 'mariadb'
  readonly start: () => Promise<Server>
  /** An opened or openable store at a place of its own. */
  readonly open: (server: Server, place: string) => Promise<Store>
}

const KINDS: Readonly<Record<string, Kind>> = {
  redisLease: {
    backend: 'redis',
    start: () => startPrivateRedis(),
    open: async ({ url }, prefix) => {
      const redis = new Redis(url, { commandTimeout: 2_000 })
      redis.on('error', () => {})
      closing.push(async () => redis.disconnect())
      return redisLease({ redis, prefix })
    },
  },
  postgresLease: {
    backend: 'postgres',
    start: () => startPrivatePostgres(),
    open: async ({ url }, schema) => {
      const pool = new Pool({ connectionString: url, max: 3 })
      pool.on('error', () => {})
      closing.push(() => pool.end())
      return postgresLease({ pool, schema, queryTimeoutMs: 2_000 })
    },
  },
  mysqlLease: {
    backend: 'mariadb',
    start: () => startPrivateMariadb(),
    open: async ({ url }, database) => {
      const admin = createPool({ uri: url, connectionLimit: 1 })
      await admin.query(`create database if not exists ${database}`)
      await admin.end()
      const pool = createPool({ uri: url, database, connectionLimit: 3 })
      closing.push(() => pool.end())
      return mysqlLease({ pool, queryTimeoutMs: 2_000 })
    },
  },
}

const servers = new Map<string, Promise<Server>>()
afterAll(async () => {
  for (const server of servers.values()) await (await server).stop()
})

function serverOf(name: string, { start }: Kind): Promise<Server> {
  const known = servers.get(name) ?? start()
  servers.set(name, known)
  return known
}

for (const [broker, openBroker] of Object.entries({ kafka, rabbitmq })) {
  for (const [name, kind] of Object.entries(KINDS)) {
    const isThere = backends.has(broker as never) && backends.has(kind.backend)
    const describeOn = isThere ? describe : describe.skip
    describeOn(`mode observe on ${broker} with ${name}`, () => {
      it('runs every message, also while the store is frozen, reports what it would have dropped, and its records are valid when it enforces', async () => {
        const server = await serverOf(name, kind)
        const [place, at] = [uniqueName('observe'), await openBroker()]
        const consumerIn = async (
          mode: 'observe' | 'enforce',
        ): Promise<{ consumer: Consumer; watching: Watching; ran: string[] }> => {
          const [watching, ran]: [Watching, string[]] = [new Watching(), []]
          const settings: ConsumerSettings<unknown, unknown, never> = {
            name: 'observed',
            id: messageId.header('id'),
            store: await kind.open(server, place),
            mode,
            observe: watching.observe,
          }
          const consumer = defineConsumer({
            ...settings,
            handle: ({ message }) => void ran.push(String(message.headers['id'])),
          })
          return { consumer, watching, ran }
        }
        const first = await consumerIn('observe')
        const { watching } = first
        const observed = (): number =>
          watching.events.reduce((sum, event) => sum + (event.type === 'observed' ? event.count : 0), 0)
        const running = await at.run(first.consumer)
        closing.push(() => running.stop())
        await at.send('a', 'b', 'a', 'c', 'b')
        await watching.untilOutcomes('handled', 5)
        await watching.until(() => observed() === 5)

        server.freeze()
        try {
          await at.send('d', 'a')
          // The store answers nothing until it is thawed below: that these end shows that no message waits for it.
          await watching.untilOutcomes('handled', 7)
        } finally {
          server.thaw()
        }
        await watching.until(() => observed() === 7)
        await running.stop()
        expect(first.ran).toEqual(['a', 'b', 'a', 'c', 'b', 'd', 'a'])
        expect(watching.outcomes()).toEqual({ handled: 7 })

        const subscription = { group: at.group }
        expect((await observedReport(first.consumer, subscription))?.counts).toMatchObject({
          run: 4,
          duplicate: 3,
          conflict: 0,
          unknown: 0,
        })
        using cli = new Cli()
        const told = await cli.run(['report', 'observed'], {
          env: {
            CONSUME_ONCE_CONFIG: 'test/cli/on-lease.config.ts',
            TEST_STORE: kind.backend,
            TEST_STORE_URL: server.url,
            TEST_PLACE: place,
            TEST_GROUP: at.group,
            TEST_ORIGIN: at.origin,
          },
        })
        expect(told).toMatchObject({ exitCode: 0 })
        expect(told.stdout).toContain('7 messages observed')
        expect(told.stdout).toContain('42.9 % would have been dropped as duplicates (3)')

        const second = await consumerIn('enforce')
        const enforcing = await at.run(second.consumer)
        closing.push(() => enforcing.stop())
        await at.send('a', 'd', 'e')
        await second.watching.until(
          () => Object.values(second.watching.outcomes()).reduce((sum, n) => sum + n, 0) === 3,
        )
        expect(second.watching.outcomes()).toEqual({ duplicate: 2, handled: 1 })
        expect(second.ran).toEqual(['e'])
        await enforcing.stop()
      })
    })
  }
}

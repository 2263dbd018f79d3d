import { chmodSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { inspect } from 'node:util'
import { describe, expect, it } from '@jest/globals'
import { beforeAllOpen } from '../kit/opened.ts'
import { Redis } from 'ioredis'
import { Kafka, logLevel } from 'kafkajs'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import { createClient } from 'redis'
import { runRabbit } from '../../adapters/amqplib/index.ts'
import { redisLease } from '../../adapters/redis/index.ts'
import { runKafka } from '../../adapters/kafkajs/index.ts'
import { mysqlInbox, mysqlLease } from '../../adapters/mysql2/index.ts'
import { postgresInbox, postgresLease } from '../../adapters/pg/index.ts'
import {
  adminOf,
  defineConsumer,
  doctor,
  runInline,
  type Consumer,
  type Message,
  type Observer,
  type Store,
} from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { backends, type Backend } from '../kit/backends.ts'
import { uniqueName } from '../kit/namespace.ts'
import { newFolder } from '../kit/servers/private-instance.ts'
import { startPrivatePostgres } from '../kit/servers/private-postgres.ts'
import { startPrivateRedis } from '../kit/servers/private-redis.ts'
import { server } from '../kit/servers/server.ts'
import { withMariadb, withPostgres, withRedis } from '../kit/servers/clients.ts'
import { OutputRecorder } from './output-recorder.ts'
import { withCalls } from '../kit/store-with.ts'
import { closedAfterEach } from '../kit/after-each.ts'
import { messageWith } from '../kit/message.ts'

/** Planted where a client keeps its password. */
const SECRET = 'planted-s3cr3t'

const closing = closedAfterEach()

/** All that a program could print of what it was told: every own field, hidden ones too. */
function allOf(value: unknown): string {
  return inspect(value, { depth: Infinity, showHidden: true, maxStringLength: null, maxArrayLength: null })
}

/** What a store says that its server refuses: at open, to doctor, to people, and to a consumer that runs meanwhile. */
async function heardOf(store: Store<unknown>): Promise<string> {
  const recorder = new OutputRecorder()
  const events: unknown[] = []
  // As if it had been opened before.
  const { admin } = store
  const opened = withCalls(store, {
    ...(admin && { admin }),
    ...(store.checkup && { checkup: () => store.checkup?.() ?? Promise.resolve([]) }),
    open: async () => {},
  })
  const consumer = consumerOf(opened, recorder, events)
  const running = runInline(consumer, { group: 'g' })
  await running.open()
  const handled = running.handle(MESSAGE).catch((error: unknown) => error)
  const asked = await Promise.allSettled([
    store.open(),
    runInline(consumerOf(store, recorder, events), { group: 'g' }).open(),
    doctor(consumer),
    adminOf(consumer, { group: 'g', origins: ['queue'] }).inspect([{ origin: 'queue', id: 'x' }] as never),
  ])
  await until(() => events.some((event) => (event as { type: string }).type === 'store-down'))
  const health = running.health()
  await running.stop({ deadlineMs: 0 }).catch(() => {})
  expect(asked[0].status).toBe('rejected')
  return [allOf(asked), allOf(events), allOf(health), allOf(await handled), ...recorder.recorded].join('\n')
}

function consumerOf(store: Store<unknown>, recorder: OutputRecorder, events: unknown[]): Consumer {
  const observe: Observer = (event) => {
    recorder.observe(event)
    events.push(event)
  }
  const given = { id: () => 'the one', log: recorder.log, graceMs: 1, observe, handle: () => {} }
  return defineConsumer({ name: 'consumer', store: store as Store, ...given })
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => void setTimeout(resolve, 10))
}

/** A port on which nobody answers, and one that is silent. */
async function silentPort(): Promise<number> {
  const silent = createServer(() => {})
  await new Promise<void>((resolve) => void silent.listen(0, '127.0.0.1', resolve))
  closing.push(() => silent.close())
  return (silent.address() as AddressInfo).port
}

function at(
  url: string,
  changes: Partial<Record<'username' | 'password' | 'pathname' | 'port' | 'protocol', string>>,
): string {
  return Object.assign(new URL(url), { password: SECRET, ...changes }).href
}

const MESSAGE: Message = messageWith()

type Refusal = readonly [what: string, url: () => string | Promise<string>]

function ifWanted(name: Backend): typeof describe | typeof describe.skip {
  return backends.has(name) ? describe : describe.skip
}

ifWanted('redis')('no password is told by a lease whose Redis refuses: [T115]', () => {
  let url: string
  let nameless: string
  beforeAllOpen(async (own) => {
    const [redis, old] = await Promise.all([
      startPrivateRedis(),
      // As one that knows no user names, or hides what it knows: it quotes the commands that it refuses.
      startPrivateRedis({ args: ['--rename-command', 'HELLO', '', '--rename-command', 'AUTH', ''] }),
    ])
    ;[url, nameless] = [redis.url, old.url]
    own(() => Promise.all([redis.stop(), old.stop()]))
    await withRedis(url, async (client) => {
      await client.call('ACL', 'SETUSER', 'limited', 'on', `>${SECRET}`, '~*', '+ping', '+info')
      await client.config('SET', 'requirepass', 'another')
    })
  })

  const refusals: readonly Refusal[] = [
    ['a wrong password', () => at(url, { username: 'default' })],
    ['an unknown user', () => at(url, { username: 'nobody' })],
    ['a database that is not there', () => at(url, { username: 'limited', pathname: '/99' })],
    ['a user without the rights', () => at(url, { username: 'limited' })],
    ['a server without AUTH', () => at(nameless, { username: 'us' })],
    ['TLS', () => at(url, { protocol: 'rediss:' })],
    ['every connection', () => at(url, { port: '1' })],
    ['to answer', async () => at(url, { port: String(await silentPort()) })],
  ]

  it.each(refusals)(
    '%s, by ioredis',
    async (_, urlOf) => {
      const redis = new Redis(await urlOf(), { maxRetriesPerRequest: 1, commandTimeout: 400 })
      redis.on('error', () => {})
      closing.push(() => redis.disconnect())
      expect(await heardOf(redisLease({ redis, queryTimeoutMs: 600 }))).not.toContain(SECRET)
    },
    30_000,
  )

  it.each(refusals)(
    '%s, by node-redis',
    async (_, urlOf) => {
      const redis = createClient({ url: await urlOf(), socket: { connectTimeout: 400 }, commandsQueueMaxLength: 10 })
      redis.on('error', () => {})
      const connected = redis.connect().catch(() => {})
      closing.push(() => redis.destroy())
      void connected
      expect(await heardOf(redisLease({ redis, queryTimeoutMs: 600 }))).not.toContain(SECRET)
    },
    30_000,
  )
})

ifWanted('postgres')('no password is told by a store whose Postgres refuses: [T116]', () => {
  let url: string
  beforeAllOpen(async (own) => {
    const hba = join(newFolder('hba'), 'pg_hba.conf')
    writeFileSync(hba, 'host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n')
    chmodSync(dirname(hba), 0o755)
    const postgres = own(await startPrivatePostgres({ settings: { hba_file: hba } }))
    ;({ url } = postgres)
    await withPostgres(url, async (client) => {
      await client.query(`create role limited login password '${SECRET}'`)
      await client.query(`create role other login password 'another'`)
    })
  })

  const refusals: readonly Refusal[] = [
    ['a wrong password', () => at(url, { username: 'other' })],
    ['an unknown user', () => at(url, { username: 'nobody' })],
    ['a database that is not there', () => at(url, { username: 'limited', pathname: '/nowhere' })],
    ['a user without the rights', () => at(url, { username: 'limited' })],
    ['TLS', () => `${at(url, { username: 'limited' })}?sslmode=require&uselibpqcompat=true`],
    ['every connection', () => at(url, { port: '1' })],
    ['to answer', async () => at(url, { port: String(await silentPort()) })],
    ['its address', () => at(url, {}).replace('127.0.0.1', '127.0.0.1:x')],
  ]

  it.each(refusals)(
    '%s',
    async (_, urlOf) => {
      const connectionString = await urlOf()
      for (const make of [postgresInbox, postgresLease]) {
        const pool = new Pool({ connectionString, connectionTimeoutMillis: 400, max: 4 })
        pool.on('error', () => {})
        closing.push(() => pool.end())
        expect(await heardOf(make({ pool }))).not.toContain(SECRET)
      }
    },
    30_000,
  )
})

ifWanted('mariadb')('no password is told by a store whose MariaDB refuses: [T117]', () => {
  let url: string
  const user = uniqueName('limited').slice(0, 32)
  beforeAllOpen(async (own) => {
    ;({ url } = await server('mariadb'))
    await withMariadb(url, (connection) => connection.query(`create user '${user}'@'%' identified by '${SECRET}'`))
    own(() => withMariadb(url, (connection) => connection.query(`drop user '${user}'@'%'`)))
  })

  const refusals: readonly Refusal[] = [
    ['a wrong password', () => at(url, {})],
    ['an unknown user', () => at(url, { username: 'nobody' })],
    ['a database that is not there', () => at(url, { username: user, pathname: '/nowhere' })],
    ['a user without the rights', () => at(url, { username: user, pathname: '/mysql' })],
    ['every connection', () => at(url, { port: '1' })],
    ['to answer', async () => at(url, { port: String(await silentPort()) })],
    ['TLS', () => `${at(url, { username: user })}?ssl={"rejectUnauthorized":true}`],
  ]

  it.each(refusals)(
    '%s',
    async (_, urlOf) => {
      const uri = await urlOf()
      for (const make of [mysqlInbox, mysqlLease]) {
        const pool = createPool({ uri, connectTimeout: 400 })
        // It fails with the refusal of a connection that is still being made.
        closing.push(() => pool.end().catch(() => {}))
        expect(await heardOf(make({ pool }) as Store<unknown>)).not.toContain(SECRET)
      }
    },
    30_000,
  )
})

ifWanted('rabbitmq')('no password is told by runRabbit where RabbitMQ refuses: [T118]', () => {
  const refusals: readonly (readonly [string, (url: string) => string | Promise<string>])[] = [
    ['a wrong password', (url) => at(url, {})],
    ['an unknown user', (url) => at(url, { username: 'nobody' })],
    ['a virtual host that is not there', (url) => at(url, { pathname: '/nowhere' })],
    ['TLS', (url) => at(url, { protocol: 'amqps:' })],
    ['every connection', (url) => at(url, { port: '1' })],
    ['an address', (url) => at(url, {}).replace(/@.*/, '@127.0.0.1:x')],
  ]

  it.each(refusals)(
    '%s',
    async (_, urlOf) => {
      const recorder = new OutputRecorder()
      const events: unknown[] = []
      const consumer = consumerOf(memoryStore(), recorder, events)
      const error: unknown = await runRabbit(await urlOf((await server('rabbitmq')).url), consumer, {
        queue: 'q',
      }).then(
        () => undefined,
        (thrown: unknown) => thrown,
      )
      expect(error).toBeInstanceOf(Error)
      expect([allOf(error), allOf(events), ...recorder.recorded].join('\n')).not.toContain(SECRET)
    },
    30_000,
  )
})

ifWanted('kafka')('no password is told by runKafka where Kafka refuses: [T119]', () => {
  it.each([
    ['SASL', { sasl: { mechanism: 'plain', username: 'us', password: SECRET } as const }],
    ['TLS', { ssl: true, sasl: { mechanism: 'scram-sha-256', username: 'us', password: SECRET } as const }],
  ])(
    '%s',
    async (_, how) => {
      const recorder = new OutputRecorder()
      const events: unknown[] = []
      const consumer = consumerOf(memoryStore(), recorder, events)
      const kafka = new Kafka({
        brokers: (await server('kafka')).brokers,
        connectionTimeout: 400,
        authenticationTimeout: 400,
        requestTimeout: 1_000,
        logLevel: logLevel.NOTHING,
        retry: { retries: 0 },
        ...how,
      })
      const error: unknown = await runKafka(kafka, consumer, { topics: ['t'], group: 'g' }).then(
        () => undefined,
        (thrown: unknown) => thrown,
      )
      expect(error).toBeInstanceOf(Error)
      expect([allOf(error), allOf(events), ...recorder.recorded].join('\n')).not.toContain(SECRET)
    },
    60_000,
  )
})

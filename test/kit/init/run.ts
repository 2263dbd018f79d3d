import { randomBytes } from 'node:crypto'
import { expect } from '@jest/globals'
import { connect } from 'amqplib'
import { Redis } from 'ioredis'
import { Kafka, logLevel } from 'kafkajs'
import { createConnection } from 'mysql2/promise'
import { Client as PgClient } from 'pg'
import type { Broker, Store } from '../../../cli/init/clients.ts'
import { eventually } from '../eventually.ts'
import { InitProject, type Program, type Variant } from './project.ts'
import { CATALOGUE } from '../servers/catalogue.ts'
import { freePort } from '../servers/ports.ts'
import { sharedEndpoint } from '../servers/server.ts'

const EXPECTED = /^(?:handled|joined|duplicate|SMS to \+15550100|dead-lettered .*)$/

/** What a combination writes is started on real servers, as `init` says it: a message that is sent twice, and twice again, has one effect. */
export async function runsOnServers(broker: Broker, store: Store, variant: Variant): Promise<void> {
  await using place = await ownPlace(broker, store)
  const { own, env } = place
  await using project = new InitProject(variant, [broker.npm, store.npm], env)
  project.install()
  const init = await project.cli('init')
  expect(init).toMatchObject({ code: 0 })
  const [first = '', second = ''] = [...init.printed.matchAll(/^ {2}node (?:--import tsx )?(.*)$/gm)].map(
    ([, file]) => file,
  )
  project.replace(`'${store.story}'`, `'${own}'`)
  project.replace(store.store, store.store.replace('{ redis }', `{ redis, prefix: '${own}' }`))

  let worker: Program
  if (first.startsWith('worker')) {
    worker = project.start(first)
    await eventually(() => isReady(env.PORT))
    expect(await project.run(second)).toMatchObject({ code: 0 })
  } else {
    expect(await project.run(first)).toMatchObject({ code: 0 })
    worker = project.start(second)
  }
  await worker.prints(1, /^handled$/)
  await worker.prints(1, /^(?:joined|duplicate)$/)
  const sender = [first, second].find((file) => file.startsWith('send-twice')) ?? ''
  expect(await project.run(sender)).toMatchObject({ code: 0 })
  await worker.prints(3, /^(?:joined|duplicate)$/)
  await eventually(() => isReady(env.PORT))
  expect(worker.lines.filter((line) => line === 'handled')).toHaveLength(1)
  expect(await place.effects(worker)).toBe(1)

  const healthy = await fetch(`http://127.0.0.1:${env.PORT}/healthz`)
  expect(healthy.status).toBe(200)
  const metrics = await (await fetch(`http://127.0.0.1:${env.PORT}/metrics`)).text()
  expect(metrics).toMatch(/consume_once_deliveries_total\{[^}]*outcome="handled"[^}]*\} 1$/m)
  const why = await project.cli('why', store.story === 'payments' ? 'p-1' : 's-1')
  expect(why).toMatchObject({ code: 0, printed: expect.stringContaining('done') })

  // For the dashboard.
  const live = await (await fetch(`http://127.0.0.1:${env.PORT}/live.json`)).text()
  expect(live).toContain('"handled":1')

  // What is not done says why: another message, which nobody can read.
  project.replace("messageId: 's-1'", "messageId: 's-2'")
  project.replace(/JSON\.stringify\(\{.*\}\)/g, `'{'`)
  expect(await project.run(sender)).toMatchObject({ code: 0 })
  await worker.prints(1, /^dead-lettered undecodable .{10,}/)

  expect({ code: await worker.stop(), printed: worker.printed }).toMatchObject({ code: 0 })
  // It closed all that it had opened: nothing was left that an ended process would tear.
  expect(worker.lines.filter((line) => !EXPECTED.test(line))).toEqual([])
}

interface OwnPlace extends AsyncDisposable {
  readonly own: string
  readonly env: Readonly<Record<'PORT' | 'DATABASE_URL', string>>
  /** How often the effect has happened. */
  effects(worker: Program): Promise<number>
}

/** A topic or queue, a schema, database or prefix that nobody else has. */
async function ownPlace(broker: Broker, store: Store): Promise<OwnPlace> {
  const own = `init_${randomBytes(4).toString('hex')}`
  const addresses = [broker.service, store.service].map(
    async (name) => [CATALOGUE[name].variable, await sharedEndpoint(name)] as const,
  )
  const servers: Readonly<Record<string, string>> = Object.fromEntries(await Promise.all(addresses))
  const address = (name: string): string => servers[name] ?? ''
  const database = new URL(address(CATALOGUE[store.service].variable))
  if (store.server === 'postgres') database.searchParams.set('options', `-c search_path=${own}`)
  const statement = async (text: string, at: string): Promise<readonly unknown[]> => {
    if (store.server === 'mysql') {
      const connection = await createConnection({ uri: at })
      const [rows] = await connection.query(text)
      await connection.end()
      return rows as unknown as readonly unknown[]
    }
    const client = new PgClient({ connectionString: at })
    await client.connect()
    const { rows } = await client.query<object>(text)
    await client.end()
    return rows
  }
  const isDatabase = store.story === 'payments'
  if (isDatabase) await statement(`create ${store.server === 'mysql' ? 'database' : 'schema'} ${own}`, database.href)
  const outside = database.href
  if (store.server === 'mysql') database.pathname = `/${own}`
  return {
    own,
    env: { ...servers, PORT: String(await freePort()), DATABASE_URL: database.href },
    effects: async (worker) =>
      isDatabase
        ? (await statement('select * from charges', database.href)).length
        : worker.lines.filter((line) => line.startsWith('SMS')).length,
    [Symbol.asyncDispose]: async () => {
      if (store.server === 'mysql') await statement(`drop database ${own}`, outside)
      else if (isDatabase) await statement(`drop schema ${own} cascade`, outside)
      else await removeKeys(address('REDIS_URL'), own)
      await (broker.server === 'kafka'
        ? removeTopics(address('KAFKA_BROKERS'), own)
        : removeQueues(address('RABBITMQ_URL'), own))
    },
  }
}

async function isReady(port: string): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined)
  return answer?.status === 200
}

async function removeKeys(url: string, prefix: string): Promise<void> {
  const redis = new Redis(url)
  const keys = await redis.keys(`${prefix}:*`)
  if (keys.length > 0) await redis.del(keys)
  redis.disconnect()
}

async function removeTopics(brokers: string, own: string): Promise<void> {
  const admin = new Kafka({ brokers: [brokers], logLevel: logLevel.NOTHING }).admin()
  await admin.connect()
  const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(own))
  await admin.deleteTopics({ topics })
  await admin.deleteGroups([own])
  await admin.disconnect()
}

async function removeQueues(url: string, own: string): Promise<void> {
  const connection = await connect(url)
  const channel = await connection.createChannel()
  for (const queue of [own, `${own}.dead-letter`]) await channel.deleteQueue(queue)
  await connection.close()
}

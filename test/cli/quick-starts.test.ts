import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, describe, expect, it, jest } from '@jest/globals'
import { connect } from 'amqplib'
import { defineConsumer, json, messageId } from 'consume-once'
import { confirmedPublisher, runRabbit } from 'consume-once/amqplib'
import { redisLease } from 'consume-once/redis'
import { runKafka } from 'consume-once/kafkajs'
import { postgresInbox } from 'consume-once/pg'
import { Redis } from 'ioredis'
import { Kafka, logLevel } from 'kafkajs'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import { compiled } from '../kit/compiled.ts'
import { eventually } from '../kit/eventually.ts'
import { newFolder } from '../kit/servers/private-instance.ts'
import { addressesOfAll } from '../kit/servers/addresses.ts'
import { WITHIN_MS } from '../kit/cli-process.ts'

jest.setTimeout(WITHIN_MS)

const own = `quick_${randomBytes(4).toString('hex')}`

/** The section of the page with this title. */
function sectionOf(title: string): string {
  const found = readFileSync('docs/quick-start.md', 'utf8')
    .split(/^## /m)
    .find((section) => section.startsWith(`${title}\n`))
  if (found === undefined) throw new Error(`docs/quick-start.md has no section ${title}`)
  return found
}

/** What each console of a section says that a run prints. */
function consolesOf(section: string): readonly string[] {
  const blocks = sectionOf(section).matchAll(/```console\n\$ npx tsx \S+\n([\s\S]*?)```/g)
  return [...blocks].map(([, printed = '']) => comparable(printed))
}

/** A copy that arrives a moment later finds its message done, and not under way. */
function comparable(printed: string): string {
  return printed.replaceAll('joined', 'duplicate')
}

async function run(example: string, env: Readonly<Record<string, string>>): Promise<string> {
  return comparable(await runProgram([compiled(`examples/${example}.ts`)], env))
}

async function runProgram(words: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
  const child = spawn(process.execPath, words, {
    env: { ...process.env, NODE_OPTIONS: '', ...env },
    // A redrive leaves its journal where it runs.
    cwd: newFolder('quick-start'),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()))
  const code = await new Promise((resolve) => child.once('close', resolve))
  expect(code).toBe(0)
  return printed
}

/** The command that sends dead letters back, and what the page says that it prints. */
function redriveOf(section: string): { readonly words: readonly string[]; readonly told: string | undefined } {
  const [, command = '', told] = /\$ npx consume-once (redrive .*)\n([\s\S]*?)```/.exec(sectionOf(section)) ?? []
  return { words: [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? ''), told }
}

/** The pages have an ID of their own. */
function withOwnId(printed: string): string {
  return printed.replaceAll(/redrive-[\da-f]{8}/g, 'redrive-7f3a91c2')
}

describe('the quick starts print what their pages show', () => {
  afterAll(async () => {
    const { DATABASE_URL, KAFKA_BROKERS, RABBITMQ_URL } = await addressesOfAll()
    const pool = new Pool({ connectionString: DATABASE_URL })
    await pool.query(`drop schema if exists ${own} cascade`)
    await pool.end()
    const admin = new Kafka({ brokers: [KAFKA_BROKERS ?? ''], logLevel: logLevel.NOTHING }).admin()
    await admin.connect()
    const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(own))
    await admin.deleteTopics({ topics })
    await admin.disconnect()
    const connection = await connect(RABBITMQ_URL ?? '')
    const channel = await connection.createChannel()
    const queues = [own, `${own}_again`].flatMap((queue) => [queue, `${queue}.dead-letter`])
    for (const queue of queues) await channel.deleteQueue(queue)
    await connection.close()
  })

  it('in one process', async () => {
    expect([await run('quick-start', {})]).toEqual(consolesOf('In one process'))
  })

  it('Kafka and Postgres: the second run charges nothing', async () => {
    const servers = await addressesOfAll()
    const url = new URL(servers['DATABASE_URL'] ?? '')
    const pool = new Pool({ connectionString: url.href })
    await pool.query(`create schema ${own}`)
    await pool.end()
    url.searchParams.set('options', `-c search_path=${own}`)
    const env = { ...servers, DATABASE_URL: url.href, TOPIC: own }
    const runs = [await run('quick-kafka-postgres', env), await run('quick-kafka-postgres', env)]
    expect(runs).toEqual(consolesOf('Kafka and Postgres'))
  })

  it('Kafka and MariaDB: prints what that with Postgres does', async () => {
    const servers = await addressesOfAll()
    const url = new URL(servers['MARIADB_URL'] ?? '')
    const admin = createPool(url.href)
    await admin.query(`create database ${own}`)
    url.pathname = own
    const env = { ...servers, MYSQL_URL: url.href, TOPIC: `${own}-mysql` }
    const runs = [await run('quick-kafka-mysql', env), await run('quick-kafka-mysql', env)]
    await admin.query(`drop database ${own}`)
    await admin.end()
    expect(runs).toEqual(consolesOf('Kafka and Postgres'))
  })

  it('RabbitMQ and Redis: the second run sends nothing', async () => {
    const env = { ...(await addressesOfAll()), QUEUE: own }
    const runs = [await run('quick-rabbitmq-redis', env), await run('quick-rabbitmq-redis', env)]
    expect(runs).toEqual(consolesOf('RabbitMQ and Redis'))
  })

  it('RabbitMQ and Redis: a dead letter is sent back', async () => {
    const servers = await addressesOfAll()
    const url = servers['RABBITMQ_URL'] ?? ''
    const redis = new Redis(servers['REDIS_URL'] ?? '')
    const queue = `${own}_again`
    let deadLetters = 0
    const failing = defineConsumer({
      name: 'sms-sender',
      id: messageId.property(),
      store: redisLease({ redis }),
      maxAttempts: 2,
      handle: () => Promise.reject(new Error('no route')),
      observe: (event) => {
        if (event.type === 'delivery' && event.outcome === 'dead-lettered') deadLetters++
      },
    })
    const running = await runRabbit(url, failing, { queue })
    const publisher = confirmedPublisher(url)
    await publisher.publish({ routingKey: queue, messageId: 's-7', body: Buffer.from('{}') })
    await publisher.close()
    await eventually(() => deadLetters === 1)
    await running.stop()
    redis.disconnect()

    const config = compiled('examples/quick-config-rabbitmq.ts')
    const { words, told } = redriveOf('RabbitMQ and Redis')
    const env = { ...servers, QUEUE: queue, CONSUME_ONCE_CONFIG: config }
    const printed = await runProgram([compiled('cli/main.ts'), ...words], env)
    expect(withOwnId(printed).replaceAll(queue, 'sms')).toContain(told)
  })

  it('Kafka and Postgres: a dead letter is sent back', async () => {
    const servers = await addressesOfAll()
    const kafka = new Kafka({ brokers: [servers['KAFKA_BROKERS'] ?? ''], logLevel: logLevel.NOTHING })
    const pool = new Pool({ connectionString: servers['DATABASE_URL'] })
    const topic = `${own}-again`
    let deadLetters = 0
    const failing = defineConsumer({
      name: 'charge-account',
      decode: json<{ paymentId: string }>(),
      id: ({ payload }) => payload.paymentId,
      store: postgresInbox({ pool }),
      maxAttempts: 2,
      handle: () => Promise.reject(new Error('no such account')),
      observe: (event) => {
        if (event.type === 'delivery' && event.outcome === 'dead-lettered') deadLetters++
      },
    })
    const admin = kafka.admin()
    await admin.connect()
    await admin.createTopics({ topics: [{ topic }] })
    await admin.disconnect()
    const producer = kafka.producer()
    await producer.connect()
    await producer.send({ topic, messages: [{ value: JSON.stringify({ paymentId: own }) }] })
    await producer.disconnect()
    const running = await runKafka(kafka, failing, { topics: [topic], group: 'payments' })
    await eventually(() => deadLetters === 1)
    await running.stop()
    await pool.end()

    const { words, told } = redriveOf('Kafka and Postgres')
    const env = { ...servers, TOPIC: topic, CONSUME_ONCE_CONFIG: compiled('examples/quick-config-kafka.ts') }
    const printed = await runProgram([compiled('cli/main.ts'), ...words], env)
    expect(withOwnId(printed).replaceAll(topic, 'payments')).toContain(told)
  })
})

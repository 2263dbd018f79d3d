import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, describe, expect, it, jest } from '@jest/globals'
import { connect } from 'amqplib'
import { Kafka, logLevel } from 'kafkajs'
import { Pool } from 'pg'
import { addressesOfAll } from '../kit/servers/addresses.ts'
import { WITHIN_MS } from './cli-process.ts'

jest.setTimeout(WITHIN_MS)

const own = `quick_${randomBytes(4).toString('hex')}`

/** What each console of a page says that a run prints. */
function consolesOf(page: string): readonly string[] {
  const blocks = readFileSync(`docs/${page}.md`, 'utf8').matchAll(/```console\n\$ npx tsx \S+\n([\s\S]*?)```/g)
  return [...blocks].map(([, printed = '']) => comparable(printed))
}

/** A copy that arrives a moment later finds its message done, and not under way. */
function comparable(printed: string): string {
  return printed.replaceAll('joined', 'duplicate')
}

async function run(example: string, env: Readonly<Record<string, string>>): Promise<string> {
  const child = spawn(process.execPath, ['--import', 'tsx', `examples/${example}.ts`], {
    env: { ...process.env, NODE_OPTIONS: '', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()))
  const code = await new Promise((resolve) => child.once('close', resolve))
  expect(code).toBe(0)
  return comparable(printed)
}

describe('the quick starts print what their pages show', () => {
  afterAll(async () => {
    const { DATABASE_URL, KAFKA_BROKERS, RABBITMQ_URL } = await addressesOfAll()
    const pool = new Pool({ connectionString: DATABASE_URL })
    await pool.query(`drop schema if exists ${own} cascade`)
    await pool.end()
    const admin = new Kafka({ brokers: [KAFKA_BROKERS ?? ''], logLevel: logLevel.NOTHING }).admin()
    await admin.connect()
    await admin.deleteTopics({ topics: [own, `${own}.dead-letter`] })
    await admin.disconnect()
    const connection = await connect(RABBITMQ_URL ?? '')
    const channel = await connection.createChannel()
    for (const queue of [own, `${own}.dead-letter`]) await channel.deleteQueue(queue)
    await connection.close()
  })

  it('in one process', async () => {
    expect([await run('quick-start', {})]).toEqual(consolesOf('quick-start'))
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
    expect(runs).toEqual(consolesOf('quick-start-kafka'))
  })

  it('RabbitMQ and Redis: the second run sends nothing', async () => {
    const env = { ...(await addressesOfAll()), QUEUE: own }
    const runs = [await run('quick-rabbitmq-redis', env), await run('quick-rabbitmq-redis', env)]
    expect(runs).toEqual(consolesOf('quick-start-rabbitmq'))
  })
})

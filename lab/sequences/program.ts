// Handles numbered messages in a process of its own, which kills itself after the nth command that its store sends.
import { appendFileSync, writeSync } from 'node:fs'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { postgresSequences } from '../../adapters/pg/index.ts'
import { redisSequences } from '../../adapters/redis/ioredis/index.ts'
import {
  defineConsumer,
  messageId,
  runInline,
  type Message,
  type SequenceOptions,
  type Store,
} from '../../src/index.ts'
import type { PostgresSpec, RedisSpec } from '../kit/worker/spec.ts'

export interface SequenceSpec {
  readonly store: RedisSpec | PostgresSpec
  readonly options: SequenceOptions
  readonly group: string
  /** One after the other. */
  readonly messages: readonly NumberedMessage[]
  /** Effects: one line each. */
  readonly file: string
  /** @defaultValue it lives */
  readonly diesAfter?: number
}

export interface NumberedMessage {
  readonly number: number
  /** Tells two senders of one name apart. */
  readonly text: string
}

const spec = JSON.parse(process.argv[2] ?? '') as SequenceSpec
let sent = 0

/** The server has answered, and the process dies before it uses the answer. */
async function counted<T>(answer: Promise<T>): Promise<T> {
  const result = await answer
  if (++sent === spec.diesAfter) {
    process.kill(process.pid, 'SIGKILL')
    await new Promise(() => {})
  }
  return result
}

/** A client whose methods of these names are counted. */
function counting<Client extends object>(client: Client, names: readonly string[]): Client {
  return new Proxy(client, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      const call = value as (...args: unknown[]) => Promise<unknown>
      if (!names.includes(String(name))) return call.bind(target)
      return (...args: unknown[]) => counted(call.apply(target, args))
    },
  })
}

function storeOf({ store, options }: SequenceSpec): Store {
  if (store.on === 'redis') {
    return redisSequences({ redis: counting(new Redis(store.url), ['evalsha', 'eval']), ...store.options, ...options })
  }
  const pool = new Pool({ connectionString: store.url, max: 1 })
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>
    Object.assign(client, { query: (...args: unknown[]) => counted(query(...args)) })
  })
  return postgresSequences({ pool, schema: store.schema ?? 'public', ...options })
}

function messageOf({ number, text }: NumberedMessage): Message {
  const place = { destination: 'queue', origin: 'queue', position: '1' }
  const value = Buffer.from(JSON.stringify(text))
  return { system: 'memory', ...place, key: null, value, headers: { meter: 'a', seq: String(number) } }
}

async function main(): Promise<void> {
  const consumer = defineConsumer({
    name: 'readings',
    id: messageId.sourceSequence({ source: messageId.header('meter'), sequence: messageId.header('seq') }),
    store: storeOf(spec),
    leaseMs: 1_500,
    handle: ({ message, payload }) =>
      appendFileSync(spec.file, `${String(message.headers['seq'])} ${String(payload)}\n`),
  })
  const running = runInline(consumer, { group: spec.group })
  const outcomes: string[] = []
  for (const message of spec.messages) outcomes.push((await running.handle(messageOf(message))).outcome)
  writeSync(1, JSON.stringify({ outcomes, sent }))
  process.exit(0)
}

void main()

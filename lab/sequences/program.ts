// Handles numbered messages in a process of its own, which kills itself after the nth command that its store sends.
import { appendFileSync, writeSync } from 'node:fs'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { postgresInboxSequences, postgresSequences, type PgTransaction } from '../../adapters/pg/index.ts'
import { redisSequences } from '../../adapters/redis/index.ts'
import {
  defineConsumer,
  messageId,
  runInline,
  type Message,
  type SequenceOptions,
  type Store,
} from '../../src/index.ts'
import { die } from '../kit/worker/effect.ts'
import type { PostgresSpec, RedisSpec } from '../kit/worker/spec.ts'

export interface SequenceSpec {
  readonly store: RedisSpec | PostgresSpec
  readonly options: SequenceOptions
  readonly group: string
  /** One after the other. */
  readonly messages: readonly NumberedMessage[]
  /** Effects under a lease: one line each. In an inbox each is a row of the table `effect`. */
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
  if (++sent === spec.diesAfter) await die()
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

type Effect = (line: string, tx: unknown) => void | Promise<unknown>

/** The store, and how a handler has its effect: a line of a file, or a row in the transaction of the inbox. */
function storeOf({ store, options, file }: SequenceSpec): { readonly store: Store<unknown>; readonly effect: Effect } {
  const toFile: Effect = (line) => appendFileSync(file, `${line}\n`)
  if (store.on === 'redis') {
    const redis = counting(new Redis(store.url), ['evalsha', 'eval'])
    return { store: redisSequences({ redis, ...store.options, ...options }), effect: toFile }
  }
  const pool = new Pool({ connectionString: store.url, max: 2 })
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>
    Object.assign(client, { query: (...args: unknown[]) => counted(query(...args)) })
  })
  const { schema = 'public' } = store
  if (store.strategy === 'lease') return { store: postgresSequences({ pool, schema, ...options }), effect: toFile }
  return {
    store: postgresInboxSequences({ pool, schema, ...options }),
    effect: (line, tx) => (tx as PgTransaction).query(`insert into ${schema}.effect (name) values ($1)`, [line]),
  }
}

function messageOf({ number, text }: NumberedMessage): Message {
  const place = { destination: 'queue', origin: 'queue', position: '1' }
  const value = Buffer.from(JSON.stringify(text))
  return { system: 'memory', ...place, key: null, value, headers: { meter: 'a', seq: String(number) } }
}

async function main(): Promise<void> {
  const { store, effect } = storeOf(spec)
  const consumer = defineConsumer({
    name: 'readings',
    id: messageId.sourceSequence({ source: messageId.header('meter'), sequence: messageId.header('seq') }),
    store,
    ...(store.strategy === 'lease' && { leaseMs: 1_500 }),
    handle: async ({ message, payload, tx }) => {
      await effect(`${String(message.headers['seq'])} ${String(payload)} ${spec.group}`, tx)
    },
  })
  const running = runInline(consumer, { group: spec.group })
  const outcomes: string[] = []
  for (const message of spec.messages) outcomes.push((await running.handle(messageOf(message))).outcome)
  writeSync(1, JSON.stringify({ outcomes, sent }))
  process.exit(0)
}

void main()

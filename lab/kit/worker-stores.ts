import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { newFolder } from '../../test/kit/servers/private-instance.ts'
import { server } from '../../test/kit/servers/server.ts'
import { newMysqlPlace } from '../../test/mysql/support.ts'
import { newPlace } from '../../test/pg/support.ts'
import { redisHarness } from '../../test/redis/harness.ts'
import type { MariadbSpec, PostgresSpec, RedisSpec, StoreSpec } from './worker/spec.ts'

/** A store for processes of a test: its records and effects are its own, and removed in the end. */
export interface WorkerStore<Spec extends StoreSpec = StoreSpec> extends AsyncDisposable {
  readonly spec: Spec
  /** How often an effect is in the database of the store; always 0 on Redis, which has no table of effects. */
  readonly committed: (id: string) => Promise<number>
}

type Open<Spec extends StoreSpec> = () => Promise<WorkerStore<Spec>>

export const LEASES_ON: {
  readonly redis: Open<RedisSpec>
  readonly postgres: Open<PostgresSpec>
  readonly mariadb: Open<MariadbSpec>
} = {
  redis: onRedis,
  postgres: () => onPostgres('lease'),
  mariadb: () => onMariadb('lease'),
}

export const INBOXES_ON: { readonly postgres: Open<PostgresSpec>; readonly mariadb: Open<MariadbSpec> } = {
  postgres: () => onPostgres('inbox'),
  mariadb: () => onMariadb('inbox'),
}

/** Effects of the programs of a test, in the database of the store or in a file. */
export function effectsOn({ spec, committed }: WorkerStore): {
  readonly file: string
  readonly times: (effect: string) => Promise<number>
} {
  const file = join(newFolder('effects'), 'effects')
  writeFileSync(file, '')
  const lines = (): readonly string[] => readFileSync(file, 'utf8').split('\n')
  const isInbox = spec.strategy === 'inbox'
  return {
    file,
    times: async (effect) => (isInbox ? committed(effect) : lines().filter((line) => line === effect).length),
  }
}

/** One store of each strategy for the workers of a test file, and the committed effects of the inbox. */
export interface WorkerStores extends AsyncDisposable {
  readonly lease: RedisSpec
  readonly inbox: PostgresSpec
  /** How often the effect of a message is in the inbox's database. */
  readonly committed: (id: string) => Promise<number>
}

export async function openStores(): Promise<WorkerStores> {
  const [lease, inbox] = [await onRedis(), await onPostgres('inbox')]
  return {
    lease: lease.spec,
    inbox: inbox.spec,
    committed: inbox.committed,
    [Symbol.asyncDispose]: async () => {
      await lease[Symbol.asyncDispose]()
      await inbox[Symbol.asyncDispose]()
    },
  }
}

async function onRedis(): Promise<WorkerStore<RedisSpec>> {
  const { url } = await server('redis')
  const { prefix, close } = await redisHarness(url)
  return {
    spec: { on: 'redis', strategy: 'lease', url, options: { prefix } },
    committed: async () => 0,
    [Symbol.asyncDispose]: close,
  }
}

async function onPostgres(strategy: PostgresSpec['strategy']): Promise<WorkerStore<PostgresSpec>> {
  const { url } = await server('postgres')
  const { schema, committed, close } = await newPlace(url)
  return { spec: { on: 'postgres', strategy, url, schema }, committed, [Symbol.asyncDispose]: close }
}

async function onMariadb(strategy: MariadbSpec['strategy']): Promise<WorkerStore<MariadbSpec>> {
  const url = new URL((await server('mariadb')).url)
  const { database, committed, close } = await newMysqlPlace(url.href)
  url.pathname = database
  return { spec: { on: 'mariadb', strategy, url: url.href }, committed, [Symbol.asyncDispose]: close }
}

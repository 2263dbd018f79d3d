// The config behind docs/operations.md: one consumer, and what an outage has left of its messages.
import { setTimeout as sleep } from 'node:timers/promises'
import {
  adminOf,
  defineConfig,
  defineConsumer,
  messageId,
  OutcomeUnknownError,
  TerminalError,
  type CheckFinding,
  type Subscription,
  type ConsumeOnceConfig,
  type Migrations,
  type Store,
} from '../../src/index.ts'
import { MIGRATIONS } from '../../adapters/pg/schema/migrations.ts'
import { MemoryBroker, runMemory } from '../../src/memory/index.ts'
import { storeWith } from '../kit/store-with.ts'

const IDS = ['order-17', 'order-23', 'order-42']

const store: Store = storeWith(({ admin }) => ({
  ...(admin && { admin }),
  checkup: async (): Promise<readonly CheckFinding[]> => [
    { check: 'redis.eviction', verdict: 'holds', found: 'maxmemory-policy noeviction', meaning: '' },
  ],
}))

const sms = defineConsumer({
  name: 'sms-sender',
  id: messageId.header('id'),
  store,
  onInDoubt: 'park',
  handle: ({ message }) => {
    if (message.headers['id'] === 'order-17') throw new OutcomeUnknownError('no answer')
    if (message.headers['id'] === 'order-23') throw new TerminalError('no such number')
  },
})

const from: Subscription = {
  group: 'sms',
  origins: ['sms'],
  checkup: async () => [
    {
      check: 'kafka.replication',
      verdict: 'weaker',
      found: 'topic sms: replicas 1, min.insync.replicas 1',
      meaning: 'The loss of one broker loses its messages. Raise the replication factor to 3.',
      isServerDefault: true,
    },
    {
      check: 'kafka.broker-settings',
      verdict: 'unknown',
      found: 'brokers: CLUSTER_AUTHORIZATION_FAILED',
      meaning: 'It may not be looked at: allow DescribeConfigs and Describe to this client, or look by hand.',
    },
  ],
}

const broker = new MemoryBroker()
const running = await runMemory(broker, sms, { topic: 'sms', group: 'sms' })
for (const id of IDS) broker.publish('sms', { value: Buffer.from('{}'), headers: { id } })
await broker.drained('sms', 'sms')
await running.stop()
const admin = adminOf(sms, from)
while ((await admin.inspect(IDS)).some(({ state }) => state === 'processing')) await sleep(1)

const ofPostgres = MIGRATIONS.map(({ version, name }) => `${version} ${name}`)
const migrations: Migrations = {
  where: 'Postgres, schema consume_once',
  status: async () => ({ run: [], pending: ofPostgres, drift: [] }),
  up: async () => ofPostgres,
  print: () => 'create schema ...',
}

const config: ConsumeOnceConfig = defineConfig({
  consumers: [{ consumer: sms, subscription: from }],
  migrations: [migrations],
})
export default config

// A config for the tests of the tool: a consumer on a store in memory, with a record in every state. What is decided about them ends
// with the process, so `close` writes down what they came to.
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  adminOf,
  defineConfig,
  defineConsumer,
  messageId,
  OutcomeUnknownError,
  TerminalError,
  type ConsumeOnceConfig,
  type Running,
  type Subscription,
} from '../../src/index.ts'
import { memoryStore, MemoryBroker, runMemory } from '../../src/memory/index.ts'

const GROUP = 'workers'
const LEASE_MS = 3_600_000

const clock = { offsetMs: 0, now: () => Date.now() + clock.offsetMs }
const store = memoryStore({ clock })
const states = ['done', 'given-up', 'parked', 'in-doubt', 'processing', 'old']

const sms = defineConsumer({
  name: 'sms-sender',
  id: messageId.header('id'),
  store,
  leaseMs: LEASE_MS,
  retentionMs: 4 * LEASE_MS,
  onInDoubt: 'park',
  handle: ({ message, signal }) => {
    const id = String(message.headers['id'])
    if (id.startsWith('given-up')) throw new TerminalError('no such\nnumber')
    if (id.startsWith('parked')) throw new OutcomeUnknownError('no answer')
    // As if its process had died, until the config is closed.
    if (id === 'in-doubt' || id === 'processing') return once(signal, 'abort')
    return undefined
  },
})

const broker = new MemoryBroker()
const runs: Running[] = []

async function send(topic: string, ids: readonly string[]): Promise<void> {
  runs.push(await runMemory(broker, sms, { topic, group: GROUP }))
  for (const id of ids) broker.publish(topic, { value: Buffer.from('{}'), headers: { id } })
}

const from: Subscription = { group: GROUP, origins: ['sms', 'mails'], checkup: async () => [] }
const admin = adminOf(sms, from)

async function until(id: string, isSo: (state: string | undefined) => boolean): Promise<void> {
  while (!isSo((await admin.inspect([id]))[0]?.state)) await sleep(1)
}

await send('mails', ['twice', 'in-doubt'])
await send('sms', ['old'])
await until('old', (state) => state === 'done')
await until('twice', (state) => state === 'done')
await until('in-doubt', (state) => state === 'processing')
clock.offsetMs = 2 * LEASE_MS
await send('sms', ['done', 'twice', 'given-up', 'given-up-too', 'parked', 'processing'])
for (const id of ['done', 'twice', 'given-up', 'given-up-too', 'parked']) {
  await until(id, (state) => ['done', 'given-up', 'parked'].includes(state ?? ''))
}
await until('processing', (state) => state === 'processing')
if (process.env['TEST_RETENTION_OVER'] !== undefined) clock.offsetMs = 5 * LEASE_MS

async function close(): Promise<void> {
  const ids = [...states, 'given-up-too']
  const records = await admin.inspect(ids)
  const path = process.env['TEST_STATES_FILE']
  if (path !== undefined) {
    writeFileSync(path, JSON.stringify(Object.fromEntries(records.map(({ state }, at) => [ids[at], state]))))
  }
  await Promise.all(runs.map((run) => run.stop({ deadlineMs: 0 })))
}

console.log('a config may log: that is no data')

const config: ConsumeOnceConfig = defineConfig({ consumers: [{ consumer: sms, subscription: from }], close })
export default config

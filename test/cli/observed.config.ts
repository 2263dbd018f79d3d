// The config behind docs/migrate.md: what mode 'observe' has seen in three days of a clock that the test moves.
import {
  defineConfig,
  defineConsumer,
  messageId,
  runInline,
  type ConsumeOnceConfig,
  type Message,
} from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { ManualClock } from '../kit/manual-clock.ts'

const MINUTE = 60_000
const clock = new ManualClock()
const sms = defineConsumer({
  name: 'sms-sender',
  id: messageId.header('id'),
  store: memoryStore({ clock }),
  mode: 'observe',
  handle: () => {},
})
const running = runInline(sms, { group: 'sms', clock })
await running.open()

let offset = 120_000
async function deliver(id: string | undefined, text = 'hi'): Promise<void> {
  const message: Message = {
    system: 'kafka',
    destination: 'sms',
    origin: 'sms',
    position: `3@${offset++}`,
    key: null,
    value: Buffer.from(JSON.stringify({ text })),
    headers: id === undefined ? {} : { id },
  }
  const handled = running.handle(message)
  await clock.advance(100)
  await handled
}

for (let count = 0; count < 293; count++) {
  await deliver(`sms-${count}`)
  clock.skip(14 * MINUTE)
}
// A producer that saw no answer, one that was started again, and two that use one ID for two texts.
await deliver('sms-292')
await deliver('sms-290')
await deliver('sms-280')
await deliver('sms-280')
await deliver('sms-291', 'bye')
await deliver('sms-291', 'bye')
await deliver(undefined)
await running.stop()

const config: ConsumeOnceConfig = defineConfig({
  consumers: [{ consumer: sms, subscription: { group: 'sms', origins: ['sms'], checkup: async () => [] } }],
})
export default config

// Meters number their readings. Redis keeps one mark for each meter, not one for each reading.
import assert from 'node:assert/strict'
import { MemoryBroker, runMemory } from 'consume-once/memory'
import { redisUnder, removeKeys } from './support/redis.ts'
import { ownName } from './support/servers.ts'
// #region readme
import { defineConsumer, messageId } from 'consume-once'
import { redisSequences } from 'consume-once/redis'

// #endregion
const prefix = ownName('readings')
const redis = redisUnder(prefix)
const sums = new Map<string, number>()
// #region readme
const readings = defineConsumer({
  name: 'meter-readings',
  id: messageId.sourceSequence({
    // The boot ID changes when a meter counts from 1 again.
    source: ({ headers }) => `${String(headers['meter'])}/${String(headers['boot-id'])}`,
    sequence: messageId.header('seq'),
  }),
  store: redisSequences({ redis }),
  handle: ({ message: { headers, value } }) => {
    const meter = String(headers['meter'])
    sums.set(meter, (sums.get(meter) ?? 0) + Number(value))
  },
})
// #endregion

const broker = new MemoryBroker()
const running = await runMemory(broker, readings, { topic: 'readings', group: 'meters' })
// In the wrong order, some twice, and reading 4 late.
for (const seq of [1, 3, 2, 2, 5, 1, 6, 4, 4]) {
  broker.publish('readings', { value: Buffer.from('10'), headers: { meter: 'm-7', 'boot-id': 'b1', seq: String(seq) } })
}
await broker.drained('readings', 'meters')
await running.stop()
await redis.quit()
await removeKeys(prefix)
console.log(Object.fromEntries(sums)) // { 'm-7': 60 }
assert.equal(sums.get('m-7'), 60)

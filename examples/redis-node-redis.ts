// A Redis lease by node-redis, and a message that is delivered twice.
import assert from 'node:assert/strict'
import { defineConsumer, messageId } from 'consume-once'
import { MemoryBroker, runMemory } from 'consume-once/memory'
// #region readme
import { createClient } from 'redis'
import { redisLease } from 'consume-once/redis'

// #endregion
import { removeKeys } from './support/redis.ts'
import { ownName, redisUrl } from './support/servers.ts'

process.env['REDIS_URL'] ??= redisUrl()
const prefix = ownName('lease')
// #region readme
const redis = await createClient({ url: process.env['REDIS_URL'] }).connect() // connected, yours to close
const store = redisLease({ redis, prefix })
// #endregion

let runs = 0
const sms = defineConsumer({ name: 'sms', id: messageId.header('id'), store, handle: () => void runs++ })
const broker = new MemoryBroker()
for (let time = 0; time < 2; time++) broker.publish('sms', { value: Buffer.from('{}'), headers: { id: 'sms-1' } })
const running = await runMemory(broker, sms, { topic: 'sms', group: 'sms' })
await broker.drained('sms', 'sms')
await running.stop()
assert.equal(runs, 1)
console.log('delivered twice, handled once')

await removeKeys(prefix)
await redis.close()

// Two processes share what is done: the second settles a duplicate from memory, without asking the store.
import assert from 'node:assert/strict'
import { defineConsumer, messageId, runInline, type Message } from 'consume-once'
// #region readme
import { Redis } from 'ioredis'
import { redisDoneChannel, redisLease } from 'consume-once/redis'
import { withDoneCache } from 'consume-once/lru-cache'

// #endregion
import { eventually, ownName, redisUrl } from './support/servers.ts'

process.env['REDIS_URL'] ??= redisUrl()
const prefix = ownName('cache')
const channel = `${prefix}:done`

/** What each process does. */
async function startProcess() {
  // #region readme
  const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://localhost')
  const subscriber = redis.duplicate()
  const share = redisDoneChannel({ redis, subscriber, channel }) // pub/sub
  const store = withDoneCache(redisLease({ redis, prefix }), { maxKeys: 100_000, share })
  // #endregion
  const sms = defineConsumer({ name: 'sms', id: messageId.header('id'), store, handle: () => {} })
  const running = runInline(sms, { group: 'sms' })
  await running.open()
  const stop = async () => {
    await running.stop()
    await Promise.all([redis.quit(), subscriber.quit()])
  }
  return { redis, running, stop }
}

const [first, second] = await Promise.all([startProcess(), startProcess()])
let count = 0
const newMessage = (): Message => {
  const id = `sms-${++count}`
  return { system: 'memory', destination: 'sms', origin: 'sms', position: id, key: null, value: null, headers: { id } }
}
/** Redis forgets everything: whoever still knows a message knows it from memory. */
const forgetAll = async (): Promise<unknown> => {
  const keys = await first.redis.keys(`${prefix}:*`)
  return keys.length > 0 ? first.redis.del(keys) : undefined
}

// The second process hears of a mark a moment later; what it has not heard of yet it would run.
await eventually(async () => {
  const message = newMessage()
  assert.equal((await first.running.handle(message)).outcome, 'handled')
  await forgetAll()
  return (await second.running.handle(message)).outcome === 'duplicate'
})
console.log('marked by the first process, a duplicate in the second without Redis')
await Promise.all([first.stop(), forgetAll().then(second.stop)])

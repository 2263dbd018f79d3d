// A payment that is requested three times, once concurrently, and happens once.
import assert from 'node:assert/strict'
import { adminOf, defineConsumer } from 'consume-once'
// #region readme
import { once } from 'consume-once'
import { redisLease } from 'consume-once/redis'

// #endregion
import { redisUnder, removeKeys } from './support/redis.ts'
import { ownName } from './support/servers.ts'

const prefix = ownName('once')
const redis = redisUnder(prefix)
const charged: number[] = []
/** The stand-in for a payment provider. */
const provider = {
  async charge({ amount }: { amount: number; idempotencyKey: string; signal: AbortSignal }) {
    charged.push(amount)
    return { receipt: `r-${charged.length}` }
  },
}

// #region readme
const store = redisLease({ redis })

const pay = (order: string) =>
  once(store, order, ({ idempotencyKey, signal }) => provider.charge({ amount: 1_000, idempotencyKey, signal }))

console.log(await Promise.all([pay('order-4711'), pay('order-4711')])) // the user has clicked twice
const { result, replayed } = await pay('order-4711') // { receipt: 'r-1' }, true
// #endregion
assert.deepEqual({ result, replayed }, { result: { receipt: 'r-1' }, replayed: true })
assert.deepEqual(charged, [1_000])

// #region admin
const calls = defineConsumer({ name: 'once', scope: 'once', store, handle: () => {} })
const [record] = await adminOf(calls, { group: 'once', origins: ['once'] }).inspect(['order-4711'])
// #endregion
assert.equal(record?.state, 'done')
console.log('asked three times, charged once')

await removeKeys(prefix)
await redis.quit()

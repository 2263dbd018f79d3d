// A payment that a client posts twice with one Idempotency-Key, and once more with another body.
import assert from 'node:assert/strict'
// #region readme
import { claimOf, idempotency } from 'consume-once/http'
import { redisLease } from 'consume-once/redis'

// #endregion
import { redisUnder, removeKeys } from './support/redis.ts'
import { ownName } from './support/servers.ts'

const prefix = ownName('http')
const redis = redisUnder(prefix)
let charged = 0
/** The stand-in for a provider. */
const charge = async (order: { cents: number }, _idempotencyKey: string | undefined) => ({
  receipt: ++charged,
  ...order,
})
/** The stand-in for your authentication: never take the account as the client sends it. */
const accountOf = (request: Request): string | undefined => request.headers.get('x-account') ?? undefined

// #region readme
const guard = idempotency({ store: redisLease({ redis }), caller: (request: Request) => accountOf(request) })
const pay = guard.fetch(async (request) => {
  const order = (await request.json()) as { cents: number }
  return Response.json(await charge(order, claimOf(request)?.idempotencyKey), { status: 201 })
}) // takes a Request, and resolves with a Response
// #endregion

const seen: unknown[] = []
for (const cents of [100, 100, 200]) {
  const request = new Request('http://shop.example/payments', {
    method: 'POST',
    headers: { 'idempotency-key': '"8e03978e-40d5"', 'x-account': 'ann' },
    body: JSON.stringify({ cents }),
  })
  const response = await pay(request)
  seen.push([response.status, response.headers.get('idempotency-replayed'), await response.json()])
}
console.log(seen)
assert.deepEqual(seen.slice(0, 2), [
  [201, null, { receipt: 1, cents: 100 }],
  [201, 'true', { receipt: 1, cents: 100 }],
])
assert.match(JSON.stringify(seen[2]), /^\[422,null,.*IDEMPOTENCY_KEY_REUSED/)
assert.equal(charged, 1)

await removeKeys(prefix)
await redis.quit()

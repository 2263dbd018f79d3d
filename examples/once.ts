// A payment that is requested three times, once concurrently, and happens once. Run: npx tsx examples/once.ts
import { memoryStore, once } from 'consume-once'

const store = memoryStore() // redisLease({ redis }) or postgresInbox({ pool }) in production
const charged: string[] = []

async function charge(orderId: string): Promise<{ receipt: string }> {
  charged.push(orderId)
  return { receipt: `receipt of ${orderId}` }
}

const pay = (orderId: string) => once(store, orderId, () => charge(orderId), { scope: 'charge', payload: orderId })

console.log(await Promise.all([pay('order-4711'), pay('order-4711')]))
console.log(await pay('order-4711'))
console.log('charged:', charged)

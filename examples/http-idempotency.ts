// A payment that a client posts twice with one Idempotency-Key. Run: npx tsx examples/http-idempotency.ts
import { memoryStore } from 'consume-once'
import { idempotent } from 'consume-once/http'

let charged = 0

const pay = idempotent(
  async (request) => {
    charged++
    const { cents } = (await request.json()) as { cents: number }
    return Response.json({ payment: charged, cents }, { status: 201 })
  },
  {
    store: memoryStore(), // redisLease({ redis }) or postgresInbox({ pool }) in production
    caller: (request) => request.headers.get('x-account') ?? undefined, // from your authentication, never as it was sent
  },
)

for (const cents of [100, 100, 200]) {
  const request = new Request('http://shop.example/payments', {
    method: 'POST',
    headers: { 'idempotency-key': '"8e03978e-40d5"', 'x-account': 'ann' },
    body: JSON.stringify({ cents }),
  })
  const response = await pay(request)
  console.log(response.status, response.headers.get('idempotency-replayed'), await response.text())
}
console.log('charged:', charged)

// The same payment behind Express, Nest on Express, Fastify and Hono: posted twice with one Idempotency-Key, charged once.
import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { Controller, Module, Post, Req, type MiddlewareConsumer, type NestModule } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import express, { type Request as ExpressRequest } from 'express'
import fastify, { type FastifyRequest } from 'fastify'
import { Hono } from 'hono'
import { memoryStore } from 'consume-once/memory'
import { claimOf, idempotency } from 'consume-once/http'

const store = memoryStore() // redisLease({ redis }) or postgresInbox({ pool }) in production
const charged: string[] = []
/** The stand-in for a provider. */
async function charge(_order: unknown, idempotencyKey: string | undefined): Promise<{ receipt: number }> {
  charged.push(idempotencyKey ?? 'none')
  return { receipt: charged.length }
}
/** The stand-in for your authentication. */
const userOf = ({ headers }: { readonly headers: Headers | Readonly<Record<string, unknown>> }): string | undefined =>
  (headers instanceof Headers ? headers.get('x-user') : (headers['x-user'] as string | undefined)) ?? undefined

/** Posts the payment twice with one key, and once with another. */
async function payThrice(framework: string, url: string): Promise<void> {
  const before = charged.length
  const answers: unknown[] = []
  for (const key of ['k-1', 'k-1', 'k-2']) {
    const headers = { 'content-type': 'application/json', 'idempotency-key': `${framework}-${key}`, 'x-user': 'ann' }
    const response = await fetch(`${url}/payments`, { method: 'POST', headers, body: '{"cents":100}' })
    answers.push([response.status < 300, response.headers.get('idempotency-replayed')])
  }
  assert.deepEqual(answers, [
    [true, null],
    [true, 'true'],
    [true, null],
  ])
  assert.equal(charged.length - before, 2)
  console.log(`${framework}: 3 requests, 2 charges`)
}

const onExpress = express()
// #region express
// Behind the authentication and the parser of bodies:
onExpress.use(express.json())
onExpress.use(idempotency({ store, caller: (request: ExpressRequest) => userOf(request) }).express)
onExpress.post('/payments', async (request, response) => {
  const claim = claimOf(request) // { idempotencyKey, attempt, signal, fence or tx }
  response.status(201).json(await charge(request.body, claim?.idempotencyKey))
})
// #endregion
const server = onExpress.listen(0, '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))
await payThrice('Express', `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
server.close()

const refunds = express()
refunds.use(express.json())
// #region fingerprint
refunds.use(
  idempotency({
    store,
    scope: 'refunds',
    caller: (request: ExpressRequest) => userOf(request),
    // When a client sent it does not count.
    fingerprint: ({ body }) => JSON.stringify([body.payment, body.cents]),
  }).express,
)
// #endregion
refunds.post('/', (request, response) => void response.status(201).end())
const refunding = refunds.listen(0, '127.0.0.1')
await new Promise((resolve) => refunding.once('listening', resolve))
const statuses: number[] = []
for (const [cents, sentAt] of [
  [5, 1],
  [5, 2],
  [6, 3],
]) {
  const headers = { 'content-type': 'application/json', 'idempotency-key': 'r-1', 'x-user': 'ann' }
  const body = JSON.stringify({ payment: 'p-1', cents, sentAt })
  const { port } = refunding.address() as AddressInfo
  statuses.push((await fetch(`http://127.0.0.1:${port}`, { method: 'POST', headers, body })).status)
}
assert.deepEqual(statuses, [201, 201, 422])
refunding.close()

// #region nest
@Controller('payments')
class PaymentsController {
  @Post()
  pay(@Req() request: ExpressRequest) {
    return charge(request.body, claimOf(request)?.idempotencyKey)
  }
}

@Module({ controllers: [PaymentsController] })
class PaymentsModule implements NestModule {
  configure(consumer: MiddlewareConsumer) {
    const payments = idempotency({ store, caller: (request: ExpressRequest) => userOf(request) })
    consumer.apply(payments.express).forRoutes(PaymentsController)
  }
}
// #endregion
const onNest = await NestFactory.create(PaymentsModule, { logger: false })
await onNest.listen(0, '127.0.0.1')
await payThrice('Nest', await onNest.getUrl())
await onNest.close()

const onFastify = fastify()
// #region fastify
// Authenticate in onRequest.
onFastify.addHook('preHandler', idempotency({ store, caller: (request: FastifyRequest) => userOf(request) }).fastify)
onFastify.post('/payments', async (request, reply) => {
  const claim = claimOf(request)
  return reply.code(201).send(await charge(request.body, claim?.idempotencyKey))
})
// #endregion
await payThrice('Fastify', await onFastify.listen({ port: 0 }))
await onFastify.close()

// #region hono
const onHono = new Hono()
onHono.use(idempotency({ store, caller: (request: Request) => userOf(request) }).hono)
onHono.post('/payments', async (context) => {
  const claim = claimOf(context)
  return context.json(await charge(await context.req.json(), claim?.idempotencyKey), 201)
})
// #endregion
const listening = await new Promise<{ port: number; close: () => void }>((resolve) => {
  const own = serve({ fetch: onHono.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) =>
    resolve({ port, close: () => own.close() }),
  )
})
await payThrice('Hono', `http://127.0.0.1:${listening.port}`)
listening.close()
assert.equal(new Set(charged).size, charged.length)

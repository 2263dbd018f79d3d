// Serves POST /pay under an Idempotency-Key in a process of its own, which kills itself where it is told to.
import { writeSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { claimOf, idempotency, type IdempotencyOptions } from '../../adapters/http/index.ts'
import type { InboxStore } from '../../src/internal.ts'
import type { WorkerTransaction } from '../kit/worker/module.ts'
import { storeOf } from '../kit/worker/stores.ts'
import { Mortal, type Framework, type MortalSpec } from './mortal.ts'

type Parsed = IncomingMessage & { rawBody?: Uint8Array }

interface Served {
  readonly options: Omit<IdempotencyOptions<never, WorkerTransaction>, 'caller' | 'fingerprint'>
  /** The effect, and the body of the answer. */
  readonly pay: (claim: unknown) => Promise<object>
}

async function main(): Promise<void> {
  const spec = JSON.parse(process.argv[2] ?? '') as MortalSpec
  const mortal = new Mortal(spec)
  const { onInDoubt, framework } = spec
  const store: InboxStore<WorkerTransaction> = mortal.store(await storeOf(spec.store, 'http'))
  const served: Served = {
    options: { store, leaseMs: 1_500, ...(onInDoubt && { onInDoubt }) },
    pay: async (claim) => {
      await mortal.effect((claim as { readonly tx?: WorkerTransaction } | undefined)?.tx)
      return { paid: spec.key }
    },
  }
  writeSync(1, `${await listening(framework, served)}\n`)
}

function listening(framework: Framework | undefined, served: Served): Promise<number> {
  switch (framework) {
    case 'express':
      return onExpress(served)
    case 'fastify':
      return onFastify(served)
    case 'hono':
      return onHono(served)
    case undefined:
      return onNode(served)
  }
}

const caller = (): string => 'ann'

function onNode({ options, pay }: Served): Promise<number> {
  const protect = idempotency({ ...options, caller }).express
  const server = createServer((request: Parsed, response) => {
    const answer = async (): Promise<void> => {
      const body = await pay(claimOf<WorkerTransaction>(request))
      response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      request.rawBody = Buffer.concat(chunks)
      protect(request, response, (error) => {
        if (error === undefined) void answer()
        else response.writeHead(500).end()
      })
    })
  })
  return portOf(server.listen(0, '127.0.0.1'))
}

function onExpress({ options, pay }: Served): Promise<number> {
  const app = express()
  app.use(express.json())
  app.use(idempotency({ ...options, caller }).express)
  app.post('/pay', (request, response, next) => {
    pay(claimOf<WorkerTransaction>(request)).then((body) => response.status(201).json(body), next)
  })
  return portOf(app.listen(0, '127.0.0.1'))
}

async function onFastify({ options, pay }: Served): Promise<number> {
  const app = fastify()
  app.addHook('preHandler', idempotency({ ...options, caller }).fastify)
  app.post('/pay', async (request, reply) => reply.code(201).send(await pay(claimOf(request))))
  await app.listen({ port: 0, host: '127.0.0.1' })
  return (app.server.address() as AddressInfo).port
}

function onHono({ options, pay }: Served): Promise<number> {
  const app = new Hono()
  app.use(idempotency({ ...options, caller }).hono)
  app.post('/pay', async (context) => context.json(await pay(claimOf(context)), 201))
  return new Promise((resolve) => {
    serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => resolve(port))
  })
}

async function portOf(server: {
  address(): unknown
  once(event: 'listening', then: () => void): unknown
}): Promise<number> {
  await new Promise<void>((resolve) => server.once('listening', resolve))
  return (server.address() as AddressInfo).port
}

void main()

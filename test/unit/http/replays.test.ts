import { expect, it } from '@jest/globals'
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { brotliCompressSync, gunzipSync, gzipSync } from 'node:zlib'
import express from 'express'
import fastify from 'fastify'
import { idempotency } from '../../../adapters/http/index.ts'
import { memoryStore } from '../../../src/memory/index.ts'
import { closedAfterEach } from '../../kit/after-each.ts'

const closing = closedAfterEach()

const options = () => ({ store: memoryStore(), caller: () => 'ann', purge: 'never' as const })

/** What a handler answers, in both frameworks. */
interface Answered {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer | string
}

async function onExpress({ status, headers = {}, body }: Answered): Promise<number> {
  const app = express()
  app.use(idempotency(options()).express)
  app.post('/pay', (_request, response) => void response.status(status).set(headers).end(body))
  const server = createServer(app)
  closing.push(() => server.close())
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

async function onFastify({ status, headers = {}, body }: Answered): Promise<number> {
  const app = fastify()
  app.addHook('preHandler', idempotency(options()).fastify)
  app.post('/pay', async (_request, reply) => {
    // As a handler that writes without Fastify: nothing adds a content type.
    if (headers['x-raw'] !== undefined) {
      reply.hijack()
      reply.raw.writeHead(status, headers).end(body)
      return reply
    }
    return reply.code(status).headers(headers).send(body)
  })
  closing.push(() => app.close())
  await app.listen({ port: 0, host: '127.0.0.1' })
  return (app.server.address() as AddressInfo).port
}

interface Got {
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: Buffer
}

async function post(port: number): Promise<Got> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    // It asks for no content coding.
    const sent = httpRequest({ port, path: '/pay', method: 'POST', headers: { 'idempotency-key': 'k' } }, resolve)
    sent.on('error', reject).end()
  })
  const chunks: Buffer[] = []
  for await (const chunk of answer) chunks.push(chunk as Buffer)
  const { date: _date, 'idempotency-replayed': _replayed, ...headers } = answer.headers
  return { status: answer.statusCode, headers, body: Buffer.concat(chunks) }
}

const SERVED = { Express: onExpress, Fastify: onFastify } as const
const FRAMES = Object.keys(SERVED) as (keyof typeof SERVED)[]

const ANSWERS: Readonly<Record<string, Answered>> = {
  'an empty body': { status: 201 },
  'no content': { status: 204 },
  'a redirect': { status: 303, headers: { location: '/payments/1' } },
  text: { status: 201, headers: { 'content-type': 'text/plain; charset=utf-8', vary: 'Accept' }, body: 'paid' },
  'bytes without a content type': { status: 201, headers: { 'content-language': 'en', 'x-raw': '1' }, body: 'paid' },
}

it.each(FRAMES.flatMap((frame) => Object.keys(ANSWERS).map((name) => [frame, name] as const)))(
  '%s replays %s as it was answered, without a header more [T299]',
  async (frame, name) => {
    const port = await SERVED[frame](ANSWERS[name] as Answered)
    const first = await post(port)
    const second = await post(port)
    // Neither kept nor sent again.
    const { 'x-raw': _raw, ...headers } = first.headers
    expect(second).toEqual({ ...first, headers })
  },
)

it.each(FRAMES)('%s replays a compressed answer to a client that asks for no compression [T300]', async (frame) => {
  const text = 'paid '.repeat(100)
  for (const [coding, body] of [
    ['gzip', gzipSync(text)],
    ['br', brotliCompressSync(text)],
    ['gzip, br', brotliCompressSync(gzipSync(text))],
  ] as const) {
    const headers = { 'content-type': 'text/plain', 'content-encoding': coding, etag: '"1"', vary: 'accept-encoding' }
    const port = await SERVED[frame]({ status: 201, headers, body })
    const first = await post(port)
    expect(first.headers['content-encoding']).toBe(coding)
    const second = await post(port)
    expect([second.status, second.body.toString(), second.headers['content-encoding']]).toEqual([201, text, undefined])
    expect([second.headers.etag, second.headers.vary]).toEqual(['W/"1"', 'accept-encoding'])
    expect(second.headers['content-length']).toBe(String(text.length))
  }
  expect(gunzipSync(gzipSync(text)).toString()).toBe(text)
})

it.each(FRAMES)('%s does not replay what it cannot read', async (frame) => {
  for (const coding of ['zstd', 'gzip']) {
    const headers = { 'content-type': 'text/plain', 'content-encoding': coding }
    const port = await SERVED[frame]({ status: 201, headers, body: 'no such coding' })
    await post(port)
    const second = await post(port)
    expect([second.status, second.body.toString()]).toEqual([409, expect.stringContaining('RESPONSE_NOT_KEPT')])
  }
})

it('keeps text of control characters, which JSON makes six times as long', async () => {
  const body = '\u0001'.repeat(200_000)
  const app = express()
  app.use(idempotency({ ...options(), maxResponseBytes: 512 * 1024 }).express)
  app.post('/pay', (_request, response) => void response.status(201).end(body))
  const server = createServer(app)
  closing.push(() => server.close())
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  for (const { status, body: got } of [await post(port), await post(port)]) {
    expect([status, got.toString() === body]).toEqual([201, true])
  }
})

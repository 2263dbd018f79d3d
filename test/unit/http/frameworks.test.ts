import { describe, expect, it } from '@jest/globals'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import express, { type Request as ExpressRequest } from 'express'
import fastify, { type FastifyRequest } from 'fastify'
import { Hono } from 'hono'
import { claimOf, idempotency, type IdempotencyOptions } from '../../../adapters/http/index.ts'
import { memoryStore } from '../../../src/memory/index.ts'
import { scriptedStore } from '../../kit/scripted-store.ts'
import type { LeaseStore } from '../../../src/internal.ts'
import { gate } from '../../kit/rig.ts'
import { closedAfterEach } from '../../kit/after-each.ts'

const closing = closedAfterEach()

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** What the route `/pay` of each framework does, with the body and the claim of a request. */
type Pay = (body: unknown, claim: { readonly idempotencyKey: string } | undefined) => Promise<Paid>

interface Paid {
  readonly status: number
  readonly body: string
}

type Options = Omit<IdempotencyOptions<never>, 'store' | 'caller' | 'fingerprint'>
type Given = Options & { readonly store: LeaseStore }

const HEADERS = {
  'content-type': 'text/plain',
  'x-own': 'yes',
  'set-cookie': 'session=secret',
  location: '/payments/1',
}

const callerOf = (request: Request): string | undefined => request.headers.get('x-user') ?? undefined

/** Each way that docs/http.md shows. The caller is the header `x-user`. */
const MOUNTED: Readonly<Record<string, (pay: Pay, options: Given) => Promise<string>>> = {
  fetch: (pay, options) => {
    const handle = idempotency({ ...options, caller: callerOf }).fetch(async (request) => {
      const { status, body } = await pay(await request.json(), claimOf(request))
      return new Response(body, { status, headers: HEADERS })
    })
    const listener = getRequestListener((request) =>
      handle(request).catch(() => new Response('failed', { status: 500 })),
    )
    return listen((request, response) => void listener(request, response))
  },
  express: (pay, options) => {
    const app = express()
    app.use(express.json())
    app.use(idempotency({ ...options, caller: (request: ExpressRequest) => request.get('x-user') }).express)
    app.all('/pay', (request, response, next) => {
      const send = ({ status, body }: Paid): void => {
        response.status(status).set(HEADERS)
        response.write(body.slice(0, 1))
        response.end(body.slice(1))
      }
      pay(request.body, claimOf(request)).then(send, next)
    })
    return listen(app)
  },
  fastify: (pay, options) => {
    const app = fastify()
    app.addHook(
      'preHandler',
      idempotency({ ...options, caller: ({ headers }: FastifyRequest) => headers['x-user'] as string | undefined })
        .fastify,
    )
    app.post('/pay', async (request, reply) => {
      const { status, body } = await pay(request.body, claimOf(request))
      return reply.code(status).headers(HEADERS).send(body)
    })
    app.get('/pay', (request) => pay(request.body, claimOf(request)).then(({ body }) => body))
    closing.push(() => app.close())
    return app.listen({ port: 0, host: '127.0.0.1' })
  },
  hono: (pay, options) => {
    const app = new Hono()
    app.use(idempotency({ ...options, caller: callerOf }).hono)
    app.all('/pay', async (context) => {
      const sent: unknown = context.req.method === 'GET' ? undefined : await context.req.json()
      const { status, body } = await pay(sent, claimOf(context))
      return new Response(body, { status, headers: HEADERS })
    })
    const listener = getRequestListener(app.fetch)
    return listen((request, response) => void listener(request, response))
  },
}

class Shop {
  readonly url: string
  constructor(url: string) {
    this.url = url
  }

  post(key: string | undefined, { body = '{"cents":100}', user = 'ann', path = '/pay' } = {}): Promise<Response> {
    const headers = {
      'content-type': 'application/json',
      ...(user === '' ? {} : { 'x-user': user }),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    }
    return fetch(this.url + path, { method: 'POST', headers, body })
  }
}

async function open(name: string, pay: Pay, options: Partial<Given> = {}): Promise<Shop> {
  const store = memoryStore()
  const url = (await MOUNTED[name]?.(pay, { store, purge: 'never', maxBodyBytes: 50_000, ...options })) ?? ''
  return new Shop(url)
}

const paid = async (): Promise<Paid> => ({ status: 201, body: 'paid' })

async function codeOf(response: Response): Promise<readonly [number, unknown]> {
  expect(response.headers.get('content-type')).toContain('application/problem+json')
  return [response.status, ((await response.json()) as { readonly code: unknown }).code]
}

describe.each(Object.keys(MOUNTED))('Idempotency-Key in %s', (name) => {
  it('handles a request once, and replays its response with the safe headers', async () => {
    const seen: unknown[] = []
    const shop = await open(name, async (body, claim) => {
      seen.push([body, claim?.idempotencyKey.length])
      return paid()
    })
    const first = await shop.post('"k-1"')
    expect([first.status, await first.text(), first.headers.get('idempotency-replayed')]).toEqual([201, 'paid', null])
    expect(first.headers.get('set-cookie')).toBe('session=secret')
    // The same key without quotes.
    const second = await shop.post('k-1')
    expect([second.status, await second.text(), second.headers.get('idempotency-replayed')]).toEqual([
      201,
      'paid',
      'true',
    ])
    expect(second.headers.get('location')).toBe('/payments/1')
    expect([second.headers.get('set-cookie'), second.headers.get('x-own')]).toEqual([null, null])
    expect(second.headers.get('content-type')).toContain('text/plain')
    expect(seen).toEqual([[{ cents: 100 }, 43]])
  })

  it('refuses a concurrent request, a missing key, a bad key, another body or path, and an unknown caller', async () => {
    const passed = gate()
    const started = gate()
    const shop = await open(name, async () => {
      started.open()
      await passed.opened
      return paid()
    })
    const first = shop.post('k')
    await started.opened
    const busy = await shop.post('k')
    expect(busy.headers.get('retry-after')).toBe('1')
    expect(await codeOf(busy)).toEqual([409, 'IDEMPOTENCY_KEY_IN_USE'])
    passed.open()
    expect((await first).status).toBe(201)
    expect(await codeOf(await shop.post(undefined))).toEqual([400, 'IDEMPOTENCY_KEY_MISSING'])
    expect(await codeOf(await shop.post('a, b'))).toEqual([400, 'IDEMPOTENCY_KEY_INVALID'])
    expect(await codeOf(await shop.post('x'.repeat(256)))).toEqual([400, 'IDEMPOTENCY_KEY_INVALID'])
    expect(await codeOf(await shop.post('k', { body: '{"cents":200}' }))).toEqual([422, 'IDEMPOTENCY_KEY_REUSED'])
    expect(await codeOf(await shop.post('k', { path: '/pay?to=bob' }))).toEqual([422, 'IDEMPOTENCY_KEY_REUSED'])
    expect(await codeOf(await shop.post('k', { user: '' }))).toEqual([401, 'CALLER_UNKNOWN'])
    expect(await codeOf(await shop.post('j', { body: JSON.stringify({ note: 'x'.repeat(70_000) }) }))).toEqual([
      413,
      'BODY_TOO_LARGE',
    ])
  }, 30_000)

  it('never gives the response of one caller to another', async () => {
    let runs = 0
    const shop = await open(name, async () => ({ status: 200, body: `run ${++runs}` }))
    const answers = await Promise.all(
      ['ann', 'bob', '1:a'].map(async (user) => (await shop.post('k', { user })).text()),
    )
    expect(new Set(answers).size).toBe(3)
    expect(runs).toBe(3)
  })

  it('does not keep a failure, and keeps a refusal by choice [T287]', async () => {
    let runs = 0
    const failing: Pay = async () => {
      runs++
      if (runs === 1) throw new Error('no')
      return { status: runs === 2 ? 503 : 422, body: 'not paid' }
    }
    const shop = await open(name, failing, { remember: ({ status }) => status < 500 })
    const answers = []
    for (let at = 0; at < 4; at++) answers.push(await shop.post('k'))
    expect(answers.map(({ status }) => status)).toEqual([500, 503, 422, 422])
    expect(answers[3]?.headers.get('idempotency-replayed')).toBe('true')
    expect(runs).toBe(3)
  })

  it('after a refusal, frees the key for the same request only', async () => {
    let runs = 0
    const shop = await open(name, async () => ({ status: ++runs === 1 ? 400 : 201, body: `run ${runs}` }))
    expect((await shop.post('k')).status).toBe(400)
    expect(await codeOf(await shop.post('k', { body: '{"cents":200}' }))).toEqual([422, 'IDEMPOTENCY_KEY_REUSED'])
    expect(await (await shop.post('k')).text()).toBe('run 2')
  })

  it('sends a response that is too large to be kept, and does not handle the request again [T279]', async () => {
    let runs = 0
    const shop = await open(
      name,
      async () => {
        runs++
        return { status: 200, body: 'x'.repeat(500_000) }
      },
      { maxResponseBytes: 1_000 },
    )
    expect((await (await shop.post('k')).text()).length).toBe(500_000)
    expect(await codeOf(await shop.post('k'))).toEqual([409, 'RESPONSE_NOT_KEPT'])
    expect(runs).toBe(1)
  })

  it('keeps an empty response', async () => {
    const shop = await open(name, async () => ({ status: 200, body: '' }))
    await shop.post('k')
    const second = await shop.post('k')
    expect([second.status, await second.text(), second.headers.get('idempotency-replayed')]).toEqual([200, '', 'true'])
  })

  it('lets other methods pass, and requests without a key if they need none', async () => {
    let runs = 0
    const shop = await open(
      name,
      async (_body, claim) => {
        runs++
        return { status: 200, body: typeof claim }
      },
      { required: false },
    )
    expect(await (await shop.post(undefined)).text()).toBe('undefined')
    if (name !== 'fetch') await fetch(`${shop.url}/pay`, { headers: { 'idempotency-key': 'k' } })
    expect(runs).toBe(name === 'fetch' ? 1 : 2)
  })

  it('answers 503 while the store is down, and handles nothing', async () => {
    let runs = 0
    const store = scriptedStore(memoryStore())
    store.isDown = true
    const pay: Pay = async () => {
      runs++
      return paid()
    }
    const shop = await open(name, pay, { store: store as unknown as LeaseStore, waitMs: 100 })
    expect(await codeOf(await shop.post('k'))).toEqual([503, 'STORE_UNREACHABLE'])
    expect(runs).toBe(0)
  })

  it('runs once for a request whose lease was another one’s before its mark, and says that it was handled', async () => {
    let runs = 0
    const store = memoryStore()
    const mark = store.mark.bind(store)
    // Another owner takes the key, and gives it back.
    store.mark = async (claims, results) => {
      if (runs > 1) return mark(claims, results)
      await store.release(claims, { refund: false, doubt: false })
      return claims.map(() => 'refused-busy')
    }
    const pay: Pay = async () => {
      runs++
      return paid()
    }
    const shop = await open(name, pay, { store })
    expect(await codeOf(await shop.post('k'))).toEqual([409, 'RESPONSE_NOT_KEPT'])
    expect(runs).toBe(1)
    // In doubt, and `onInDoubt` is `rerun`.
    expect((await shop.post('k')).status).toBe(201)
  })
})

it('refuses to keep headers of a user or a connection', () => {
  const options = { store: memoryStore(), caller: () => 'ann', keepHeaders: ['Set-Cookie', 'Connection', 'X-Rate'] }
  expect(() => idempotency(options)).toThrow(/Set-Cookie[^]*Connection/)
})

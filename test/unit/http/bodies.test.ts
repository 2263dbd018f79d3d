import { describe, expect, it } from '@jest/globals'
import { createServer, type RequestListener } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import type { AddressInfo } from 'node:net'
import express from 'express'
import fastify, { type FastifyInstance } from 'fastify'
import { Hono } from 'hono'
import { type FastifyRequestLike, idempotency, type IdempotencyOptions } from '../../../adapters/http/index.ts'
import { memoryStore } from '../../../src/memory/index.ts'
import { closedAfterEach } from '../../kit/after-each.ts'

const closing = closedAfterEach()

const options = () => ({ store: memoryStore(), caller: () => 'ann', purge: 'never' as const })

type Express = typeof express
const EXPRESS: Readonly<Record<string, () => Express>> = {
  'Express 4': () => require('express-4') as Express,
  'Express 5': () => express,
}
const multer = require('multer') as () => { any(): express.RequestHandler }

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/pay`
}

interface Sent {
  readonly type?: string
  readonly body: string | FormData
}

/** Status and code, or text, of a request with the key `k`. */
async function post(url: string, { type, body }: Sent): Promise<readonly [number, unknown]> {
  const headers = { 'idempotency-key': 'k', ...(type !== undefined && { 'content-type': type }) }
  const response = await fetch(url, { method: 'POST', headers, body })
  const text = await response.text()
  const isProblem = response.headers.get('content-type')?.includes('problem') === true
  return [response.status, isProblem ? (JSON.parse(text) as { code: unknown }).code : text]
}

function upload(text: string, field = 'same'): FormData {
  const form = new FormData()
  form.set('note', field)
  form.set('file', new Blob([text]), 'a.txt')
  return form
}

const UNSEEN = [415, 'BODY_NOT_COMPARABLE'] as const
const REUSED = [422, 'IDEMPOTENCY_KEY_REUSED'] as const

/** Two bodies of one kind, which differ. */
const PAIRS: Readonly<Record<string, readonly [Sent, Sent]>> = {
  text: [
    { type: 'text/plain', body: 'pay 1' },
    { type: 'text/plain', body: 'pay 2' },
  ],
  XML: [
    { type: 'application/xml', body: '<pay>1</pay>' },
    { type: 'application/xml', body: '<pay>2</pay>' },
  ],
  'a form': [
    { type: 'application/x-www-form-urlencoded', body: 'pay=1' },
    { type: 'application/x-www-form-urlencoded', body: 'pay=2' },
  ],
  'another kind of JSON': [
    { type: 'application/vnd.api+json', body: '{"pay":1}' },
    { type: 'application/vnd.api+json', body: '{"pay":2}' },
  ],
  'an upload': [{ body: upload('1') }, { body: upload('2') }],
}

class Money {
  readonly #cents = 1
  paid(): boolean {
    return this.#cents > 0
  }
}

const withJson = (app: express.Express, make: Express): void => void app.use(make.json())

const ofFiles = ({ files }: { readonly files: readonly { readonly buffer: Buffer }[] }): Buffer =>
  Buffer.concat(files.map(({ buffer }) => buffer))

const ofType = ({ headers }: FastifyRequestLike): string => String(headers['content-type'])

const form = (body: string, boundary: string): Sent => ({ type: `multipart/form-data; boundary=${boundary}`, body })

const postedBody = (body: string | FormData | null, headers: Record<string, string> = {}): Request =>
  new Request('http://a/pay', { method: 'POST', headers: { 'idempotency-key': 'k', ...headers }, body })

const posted = (body: string): Request => postedBody(body)

const textOfFile = async (data: FormData): Promise<string> => new Response(data.get('file') as Blob).text()

describe.each(Object.keys(EXPRESS))('bodies in %s', (version) => {
  const serve = (mount: (app: express.Express, make: Express) => void, own: object = {}): Promise<string> => {
    const make = (EXPRESS[version] as () => Express)()
    const app = make()
    mount(app, make)
    app.use(idempotency({ ...options(), ...own }).express)
    app.post('/pay', (request, response) => void response.status(201).send('paid'))
    return listen(app)
  }

  it.each(Object.keys(PAIRS))(
    'refuses %s that no parser has read, instead of taking it for equal [T295]',
    async (kind) => {
      const url = await serve((app, make) => void app.use(make.json()))
      for (const sent of PAIRS[kind] ?? []) expect(await post(url, sent)).toEqual(UNSEEN)
    },
  )

  it('refuses every body without a parser', async () => {
    const url = await serve(() => {})
    expect(await post(url, { type: 'application/json', body: '{"pay":1}' })).toEqual(UNSEEN)
  })

  it('tells apart what parsers have read', async () => {
    for (const kind of Object.keys(PAIRS).filter((name) => name !== 'an upload')) {
      const url = await serve((app, make) => {
        app.use(make.json({ type: ['application/json', 'application/vnd.api+json'] }))
        app.use(make.text({ type: ['text/plain', 'application/xml'] }))
        app.use(make.urlencoded({ extended: true }))
      })
      const [first, other] = PAIRS[kind] as readonly [Sent, Sent]
      expect([kind, ...(await post(url, first))]).toEqual([kind, 201, 'paid'])
      expect([kind, ...(await post(url, first))]).toEqual([kind, 201, 'paid'])
      expect([kind, ...(await post(url, other))]).toEqual([kind, ...REUSED])
    }
  })

  it('takes an empty object, an empty text and no body for what they are', async () => {
    const url = await serve(withJson)
    expect(await post(url, { type: 'application/json', body: '{}' })).toEqual([201, 'paid'])
    expect(await post(url, { type: 'application/json', body: '{ }' })).toEqual([201, 'paid'])
    expect(await post(url, { type: 'application/json', body: '{"pay":1}' })).toEqual(REUSED)
    expect(await post(await serve(withJson), { body: '' })).toEqual([201, 'paid'])
  })

  it('refuses an upload that multer has read before: its files are not in the body', async () => {
    const url = await serve((app) => void app.use(multer().any()))
    for (const text of ['1', '2']) expect(await post(url, { body: upload(text) })).toEqual(UNSEEN)
  })

  it('compares an upload by `fingerprint` [T296]', async () => {
    const url = await serve((app) => void app.use(multer().any()), { fingerprint: ofFiles })
    expect(await post(url, { body: upload('1') })).toEqual([201, 'paid'])
    // Another boundary and another field, which do not count here.
    expect(await post(url, { body: upload('1', 'other') })).toEqual([201, 'paid'])
    expect(await post(url, { body: upload('2') })).toEqual(REUSED)
  })

  it('compares any body by its bytes', async () => {
    const url = await serve((app, make) => {
      app.use((request, _response, next) => {
        const chunks: Buffer[] = []
        request.on('data', (chunk: Buffer) => chunks.push(chunk))
        request.on('end', () => {
          Object.assign(request, { rawBody: Buffer.concat(chunks) })
          next()
        })
      })
      app.use(make.json())
    })
    const [first, other] = PAIRS.XML as readonly [Sent, Sent]
    expect(await post(url, first)).toEqual([201, 'paid'])
    expect(await post(url, other)).toEqual(REUSED)
  })

  it.each([
    ['a Map', () => new Map([['pay', 1]])],
    ['a number that JSON has not', () => ({ pay: Number.NaN })],
    ['a bigint', () => ({ pay: 1n })],
    ['an object of a class', () => ({ pay: new Money() })],
    ['a stream', () => new ReadableStream()],
  ])('refuses a body that was parsed to %s', async (_name, parsed) => {
    const url = await serve((app, make) => {
      app.use(make.json(), (request, _response, next) => {
        request.body = parsed()
        next()
      })
    })
    expect(await post(url, { type: 'application/json', body: '{"pay":1}' })).toEqual(UNSEEN)
  })

  it('fails a request whose fingerprint is none', async () => {
    const url = await serve((app) => void app.set('env', 'test'), { fingerprint: () => undefined })
    expect((await post(url, { type: 'text/plain', body: '1' }))[0]).toBe(500)
  })
})

const multipart = require('@fastify/multipart') as (app: FastifyInstance) => void

async function onFastify(mount: (app: FastifyInstance) => unknown, own: object = {}): Promise<string> {
  const app = fastify()
  await mount(app)
  app.addHook('preHandler', idempotency({ ...options(), ...own }).fastify)
  app.post('/pay', async (_request, reply) => reply.code(201).send('paid'))
  closing.push(() => app.close())
  return `${await app.listen({ port: 0, host: '127.0.0.1' })}/pay`
}

describe('bodies in Fastify', () => {
  it('refuses an upload, which is read by the handler or has its files beside its fields', async () => {
    for (const attached of [false, true, 'keyValues']) {
      const url = await onFastify(
        (app) => void app.register(multipart as never, { attachFieldsToBody: attached } as never),
      )
      for (const text of ['1', '2']) expect(await post(url, { body: upload(text) })).toEqual(UNSEEN)
    }
  })

  it('refuses what a parser leaves to the handler', async () => {
    for (const left of [undefined, {}, '', null]) {
      const url = await onFastify((app) => {
        app.addContentTypeParser('application/xml', (_request, payload, done) => {
          payload.resume().on('end', () => done(null, left))
        })
      })
      for (const sent of PAIRS.XML ?? []) expect(await post(url, sent)).toEqual(UNSEEN)
    }
    const url = await onFastify((app) => {
      app.addContentTypeParser('application/xml', (_request, payload, done) => done(null, payload))
    })
    for (const sent of PAIRS.XML ?? []) expect(await post(url, sent)).toEqual(UNSEEN)
  })

  it('compares by `fingerprint`', async () => {
    const url = await onFastify((app) => void app.register(multipart as never), { fingerprint: ofType })
    expect(await post(url, form('--a--\r\n', 'a'))).toEqual([201, 'paid'])
    expect(await post(url, form('--a--\r\n', 'b'))).toEqual(REUSED)
  })

  it('tells apart JSON and text, and takes null and an empty object for what they are', async () => {
    for (const [type, first, other] of [
      ['application/json', '{"pay":1}', '{"pay":2}'],
      ['application/json', 'null', '{}'],
      ['application/json', '{}', '[]'],
      ['text/plain', 'pay 1', 'pay 2'],
    ] as const) {
      const url = await onFastify(() => {})
      expect(await post(url, { type, body: first })).toEqual([201, 'paid'])
      expect(await post(url, { type, body: first })).toEqual([201, 'paid'])
      expect(await post(url, { type, body: other })).toEqual(REUSED)
    }
    expect(await post(await onFastify(() => {}), { body: '' })).toEqual([201, 'paid'])
  })

  it('holds and replays on HTTP/2, where no header tells whether there is a body', async () => {
    const app = fastify({ http2: true })
    app.addHook('preHandler', idempotency(options()).fastify)
    app.post('/pay', async (_request, reply) => reply.code(201).send('paid'))
    await app.listen({ port: 0, host: '127.0.0.1' })
    const session = connectHttp2(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`)
    closing.push(async () => {
      await new Promise<void>((resolve) => session.close(resolve))
      await app.close()
    })
    const send = (body: string | undefined, type?: string): Promise<readonly [number, string]> =>
      new Promise((resolve, reject) => {
        const head = { ':method': 'POST', ':path': '/pay', 'idempotency-key': `k-${type}` }
        const stream = session.request(
          { ...head, ...(type !== undefined && { 'content-type': type }) },
          { endStream: body === undefined },
        )
        let status = 0
        let text = ''
        stream.on('response', (headers) => {
          status = Number(headers[':status'])
        })
        stream.setEncoding('utf8').on('data', (chunk) => {
          text += String(chunk)
        })
        stream.on('end', () => resolve([status, text])).on('error', reject)
        if (body !== undefined) stream.end(body)
      })
    expect(await send('{"pay":1}', 'application/json')).toEqual([201, 'paid'])
    expect(await send('{"pay":1}', 'application/json')).toEqual([201, 'paid'])
    expect((await send('{"pay":2}', 'application/json'))[0]).toBe(422)
    expect(await send(undefined)).toEqual([201, 'paid'])
    // Without a content type nothing parses it.
    expect((await send('pay 1'))[0]).toBe(415)
  })
})

const inHono = (own: Partial<IdempotencyOptions<Request>>): ((request: Request) => Promise<Response>) => {
  const app = new Hono()
  app.use(idempotency({ ...options(), ...own }).hono)
  app.post('/pay', (context) => context.text('paid', 201))
  return async (request) => app.request(request)
}

const inFetch = (own: Partial<IdempotencyOptions<Request>>): ((request: Request) => Promise<Response>) =>
  idempotency({ ...options(), ...own }).fetch(() => new Response('paid', { status: 201 }))

describe('bodies of fetch handlers', () => {
  it('refuses a body that was read before, by name', async () => {
    const handle = idempotency(options()).fetch(() => new Response('paid', { status: 201 }))
    const read = posted('pay 1')
    await read.text()
    expect((await handle(read)).status).toBe(415)
    expect((await handle(posted('pay 1'))).status).toBe(201)
    expect((await handle(posted('pay 2'))).status).toBe(422)
  })

  it.each([
    ['fetch', inFetch],
    ['Hono', inHono],
  ])(
    'refuses an upload in %s, whose boundary differs each time, and compares it by `fingerprint`',
    async (_name, on) => {
      const unseen = on({})
      for (const text of ['1', '1', '2']) {
        const answer = await unseen(postedBody(upload(text)))
        expect([answer.status, ((await answer.json()) as { code: unknown }).code]).toEqual(UNSEEN)
      }
      const typed = { 'content-type': 'Multipart/Mixed; boundary=a' }
      expect((await unseen(postedBody('--a--', typed))).status).toBe(415)
      // It has no body that could differ.
      expect((await unseen(postedBody(null, typed))).status).toBe(201)

      const byFile = on({ fingerprint: async (request) => textOfFile(await request.clone().formData()) })
      for (const text of ['1', '1']) expect((await byFile(postedBody(upload(text)))).status).toBe(201)
      expect((await byFile(postedBody(upload('2')))).status).toBe(422)
    },
  )

  it('compares by `fingerprint`, also behind a reader of the body in Hono', async () => {
    const app = new Hono()
    app.use(async (context, next) => {
      await context.req.json()
      await next()
    })
    let fingerprint: ((request: Request) => string) | undefined
    const serve = (): ReturnType<typeof app.request> =>
      app.request('/pay', { method: 'POST', headers: { 'idempotency-key': 'k' }, body: '{"pay":1}' })
    app.use((context, next) => idempotency({ ...options(), ...(fingerprint && { fingerprint }) }).hono(context, next))
    app.post('/pay', (context) => context.text('paid', 201))
    expect((await serve()).status).toBe(415)
    fingerprint = ({ url }) => url
    expect((await serve()).status).toBe(201)
  })
})

/** The error of these options. */
const refused = (own: object): unknown => {
  try {
    idempotency({ ...options(), ...own })
    return undefined
  } catch (error) {
    return error
  }
}

it('options of untyped code are refused at creation, all at once', () => {
  expect(refused({ required: 'no', methods: 'POST', keepHeaders: 'x-a' })).toMatchObject({
    code: 'CONFIG_INVALID',
    problems: [
      'idempotency: methods: expected a list, got "POST"',
      'idempotency: required: expected true or false, got "no"',
      'idempotency: keepHeaders: expected a list, got "x-a"',
    ],
  })
  expect(refused({ methods: ['POST', 1] })).toMatchObject({ code: 'CONFIG_INVALID' })
  expect(refused({ methods: ['PUT'], required: false, keepHeaders: ['x-a'] })).toBeUndefined()
})

import { describe, expect, it } from '@jest/globals'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import express from 'express'
import fastify, { type FastifyInstance } from 'fastify'
import { claimOf, type ExpressRequestLike, idempotency, type IdempotencyContext } from '../../../adapters/http/index.ts'
import { memoryStore } from '../../../src/memory/index.ts'
import { nestWith } from '../../http/nest.ts'
import { gate } from '../../kit/rig.ts'
import { closedAfterEach } from '../../kit/after-each.ts'

const closing = closedAfterEach()

/** What is used of a response of Express, and of a reply of Fastify, under one name. */
interface Answering {
  readonly claim: IdempotencyContext | undefined
  /** `response.status(status).json(value)`, or `reply.code(status).send(value)`. */
  readonly json: (status: number, value: unknown) => void
  readonly raw: ServerResponse
}

type Handler = (answering: Answering) => unknown

/** What attackers want sent as the next response of the connection. */
const SPLIT = 'HTTP/1.1 200 OK\r\nset-cookie: session=stolen\r\ncontent-length: 1\r\n\r\nx'

const callerOf = ({ headers }: Pick<ExpressRequestLike, 'headers'>): string => String(headers['x-user'])

interface ExpressResponse extends ServerResponse {
  status(code: number): ExpressResponse
  json(value: unknown): void
}

function ofExpress(request: object, response: ExpressResponse): Answering {
  return {
    claim: claimOf(request),
    json: (status, value) => response.status(status).json(value),
    raw: response,
  }
}

/** The error handler that applications write: it does not look at `headersSent`. */
const ownErrors = (error: Error, _request: unknown, response: ExpressResponse, _next: unknown): void => {
  response.status(500).json({ error: error.message, echo: SPLIT })
}

type Frame = (handler: Handler) => Promise<number>

const onExpress =
  (load: () => unknown, { hasOwnErrors }: { readonly hasOwnErrors: boolean }): Frame =>
  (handler) => {
    const make = load() as typeof express
    const app = make()
    // The error that is given up is written to the log of a development server.
    app.set('env', 'test')
    app.use(make.json())
    app.use(idempotency({ store: memoryStore(), caller: callerOf, purge: 'never' }).express)
    app.post('/pay', (request, response, next) => {
      // As Express 5 does by itself.
      const handle = async (): Promise<void> => {
        try {
          await handler(ofExpress(request, response))
        } catch (error) {
          next(error)
        }
      }
      void handle()
    })
    if (hasOwnErrors) app.use(ownErrors as never)
    return listen(app)
  }

async function listen(listener: RequestListener): Promise<number> {
  const server = createServer(listener)
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

const FRAMES: Readonly<Record<string, Frame>> = {
  'Express 5': onExpress(() => express, { hasOwnErrors: false }),
  'Express 5 with an error handler': onExpress(() => express, { hasOwnErrors: true }),
  'Express 4': onExpress(() => require('express-4'), { hasOwnErrors: false }),
  'Express 4 with an error handler': onExpress(() => require('express-4'), { hasOwnErrors: true }),
  'Nest with @Res': async (handler) => {
    const protect = idempotency({ store: memoryStore(), caller: callerOf, purge: 'never' }).express
    const app = await nestWith(protect, (request, response) => handler(ofExpress(request, response as ExpressResponse)))
    closing.push(() => app.close())
    return (app.getHttpServer().address() as AddressInfo).port
  },
  Fastify: (handler) => onFastify(fastify(), handler),
}

async function onFastify(app: FastifyInstance, handler: Handler): Promise<number> {
  app.addHook('preHandler', idempotency({ store: memoryStore(), caller: callerOf, purge: 'never' }).fastify)
  app.post('/pay', async (request, reply) => {
    await handler({
      claim: claimOf(request),
      json: (status, value) => void reply.code(status).header('x-status', status).send(value),
      raw: reply.raw,
    })
    return reply
  })
  closing.push(() => app.close())
  await app.listen({ port: 0, host: '127.0.0.1' })
  return (app.server.address() as AddressInfo).port
}

/** All bytes that a connection gets for one POST, and, unless the server closes it, for the request after it. */
function bytesOf(port: number, key: string): Promise<string> {
  const head = `POST /pay HTTP/1.1\r\nhost: a\r\nx-user: ann\r\nidempotency-key: ${key}\r\ncontent-type: application/json\r\n`
  const post = `${head}content-length: 2\r\n\r\n{}`
  const last = 'GET /end HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n'
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect(port, '127.0.0.1', () => socket.write(post + last))
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', reject)
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')))
  })
}

interface Part {
  readonly status: number
  readonly head: string
  readonly body: string
}

/** The responses in the bytes of a connection, as a client reads them. */
function responsesIn(bytes: string): Part[] {
  const parts: Part[] = []
  let rest = bytes
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n')
    const head = rest.slice(0, end)
    expect(head).toMatch(/^HTTP\/1\.1 \d{3} /)
    const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1])
    expect(length).toBeGreaterThanOrEqual(0)
    parts.push({ status: Number(head.slice(9, 12)), head, body: rest.slice(end + 4, end + 4 + length) })
    rest = rest.slice(end + 4 + length)
  }
  return parts
}

/** Handlers that answer, and then do something wrong. */
const WRONG: Readonly<Record<string, Handler>> = {
  'fails at once': ({ json }) => {
    json(201, { paid: 1 })
    throw new Error('after the answer')
  },
  'fails a turn later': async ({ json }) => {
    json(201, { paid: 1 })
    await new Promise((resolve) => setImmediate(resolve))
    throw new Error('after the answer')
  },
  'answers again': ({ json }) => {
    json(201, { paid: 1 })
    json(500, { echo: SPLIT })
  },
  'answers again on the raw response': ({ json, raw }) => {
    json(201, { paid: 1 })
    raw.statusCode = 500
    try {
      raw.setHeader('content-length', String(SPLIT.length))
    } catch {
      // As node says: too late.
    }
    // As node emits: a write after the end.
    raw.on('error', () => {})
    raw.end(SPLIT)
  },
}

describe.each(Object.keys(FRAMES))('a handler in %s', (frame) => {
  it.each(Object.keys(WRONG))('that answers and then %s is answered once, and that is kept [T294]', async (wrong) => {
    const port = (await FRAMES[frame]?.(WRONG[wrong] as Handler)) ?? 0
    const bytes = await bytesOf(port, 'k')
    // Beside its own, nothing of a second answer is on the wire.
    expect(bytes).not.toContain('stolen')
    const [first, ...others] = responsesIn(bytes)
    expect([first?.status, first?.body]).toEqual([201, '{"paid":1}'])
    // The connection is closed, or goes on with the response of the next request.
    expect(others.map(({ status }) => status)).toEqual(others.length === 0 ? [] : [404])
    const [again] = responsesIn(await bytesOf(port, 'k'))
    expect([again?.status, again?.body]).toEqual([201, '{"paid":1}'])
    expect(again?.head.toLowerCase()).toContain('idempotency-replayed: true')
  })

  it('that fails before it answers is answered 500, and its key is free', async () => {
    let runs = 0
    const port = await FRAMES[frame]?.(({ json }) => {
      runs++
      if (runs === 1) throw new Error('before the answer')
      json(201, { runs })
    })
    const [first] = responsesIn(await bytesOf(port ?? 0, 'k'))
    expect(first?.status).toBe(500)
    const [second] = responsesIn(await bytesOf(port ?? 0, 'k'))
    expect([second?.status, second?.body]).toEqual([201, '{"runs":2}'])
  })
})

/** Between `reply.send` and the end of the response. */
const HOOKS: Readonly<Record<string, (app: FastifyInstance) => unknown>> = {
  'that is asynchronous': (app) =>
    app.addHook('onSend', async (_request, _reply, payload) => {
      await Promise.resolve()
      return payload
    }),
  'that takes longer for the first answer': (app) => {
    let calls = 0
    app.addHook('onSend', async (request, _reply, payload) => {
      if (request.method === 'POST' && ++calls === 1)
        for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
      return payload
    })
  },
  'with a callback': (app) =>
    app.addHook('onSend', (_request, _reply, payload, done) => {
      setImmediate(() => done(null, payload))
    }),
}

describe.each(Object.keys(HOOKS))('a handler in Fastify with a hook onSend %s', (hook) => {
  const WRONG_FOR_HOOKS: Readonly<Record<string, Handler>> = {
    'fails at once': WRONG['fails at once'] as Handler,
    'answers again': WRONG['answers again'] as Handler,
    'answers again in a catch': ({ json }) => {
      try {
        json(201, { paid: 1 })
        throw new Error('after the answer')
      } catch {
        json(500, { failed: 1 })
      }
    },
    'answers again a microtask later': async ({ json }) => {
      json(201, { paid: 1 })
      await Promise.resolve()
      json(500, { failed: 1 })
    },
  }

  it.each(Object.keys(WRONG_FOR_HOOKS))(
    'that answers and then %s is answered once, and that is kept',
    async (wrong) => {
      const app = fastify()
      HOOKS[hook]?.(app)
      const port = await onFastify(app, WRONG_FOR_HOOKS[wrong] as Handler)
      const [first] = responsesIn(await bytesOf(port, 'k'))
      expect([first?.status, first?.body]).toEqual([201, '{"paid":1}'])
      expect(first?.head).toContain('x-status: 201')
      const [again] = responsesIn(await bytesOf(port, 'k'))
      expect([again?.status, again?.body]).toEqual([201, '{"paid":1}'])
      expect(again?.head.toLowerCase()).toContain('idempotency-replayed: true')
    },
  )

  it('is answered with what the hook makes of its status and headers', async () => {
    const app = fastify()
    HOOKS[hook]?.(app)
    app.addHook('onSend', async (_request, reply, payload) => {
      reply.code(202).header('x-hook', 'yes')
      return payload
    })
    const port = await onFastify(app, ({ json }) => json(201, { paid: 1 }))
    const [first] = responsesIn(await bytesOf(port, 'k'))
    expect([first?.status, first?.body]).toEqual([202, '{"paid":1}'])
    expect(first?.head).toContain('x-hook: yes')
  })

  it('is answered with the failure of the hook, and the key is free', async () => {
    const app = fastify()
    HOOKS[hook]?.(app)
    let runs = 0
    app.addHook('onSend', async (request, _reply, payload) => {
      if (request.method === 'POST' && ++runs === 1) throw new Error('the hook has failed')
      return payload
    })
    const port = await onFastify(app, ({ json }) => json(201, { paid: 1 }))
    const [first] = responsesIn(await bytesOf(port, 'k'))
    expect([first?.status, first?.body]).toEqual([500, expect.stringContaining('the hook has failed')])
    expect(responsesIn(await bytesOf(port, 'k'))[0]?.status).toBe(201)
  })
})

describe.each(['Express 4', 'Express 5', 'Fastify'])('a handler in %s', (frame) => {
  it('that fails in the middle of its answer has given none: nothing is kept, and the key is not in use', async () => {
    let runs = 0
    const port = await FRAMES[frame]?.(({ json, raw }) => {
      runs++
      if (runs > 1) return json(201, { runs })
      raw.writeHead(201, { 'content-type': 'text/plain' })
      raw.write('a part')
      raw.destroy()
      return undefined
    })
    expect(await bytesOf(port ?? 0, 'k')).toBe('')
    const [second] = responsesIn(await bytesOf(port ?? 0, 'k'))
    expect([second?.status, second?.body]).toEqual([201, '{"runs":2}'])
  })
})

it('a handler of Express that writes a part and then throws has its connection closed, and its key is not in use', async () => {
  let runs = 0
  const port = await FRAMES['Express 5']?.(({ json, raw }) => {
    runs++
    if (runs > 1) return json(201, { runs })
    raw.write('a part')
    throw new Error('in the middle')
  })
  expect(await bytesOf(port ?? 0, 'k')).toBe('')
  const [second] = responsesIn(await bytesOf(port ?? 0, 'k'))
  expect([second?.status, second?.body]).toEqual([201, '{"runs":2}'])
})

it('a client that goes away does not stop the handler: its next try gets the response', async () => {
  const gone = gate()
  const ended = gate()
  let runs = 0
  const port = await FRAMES['Express 5']?.(async ({ json, raw }) => {
    runs++
    socket.destroy()
    raw.once('close', () => gone.open())
    await gone.opened
    json(201, { runs })
    ended.open()
  })
  const socket = connect(port ?? 0, '127.0.0.1', () => {
    const head =
      'POST /pay HTTP/1.1\r\nhost: a\r\nx-user: ann\r\nidempotency-key: k\r\ncontent-type: application/json\r\n'
    socket.write(`${head}content-length: 2\r\n\r\n{}`)
  })
  await ended.opened
  const answers = async (): Promise<Part | undefined> => responsesIn(await bytesOf(port ?? 0, 'k'))[0]
  let again = await answers()
  // The mark may still be under way.
  for (let tries = 0; again?.status === 409 && tries < 1_000; tries++) again = await answers()
  expect([again?.status, again?.body, runs]).toEqual([201, '{"runs":1}', 1])
})

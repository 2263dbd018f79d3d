import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { claimOf, idempotency, type IdempotencyContext, type IdempotencyOptions } from '../../adapters/http/index.ts'
import { postgresInbox, type PgTransaction } from '../../adapters/pg/index.ts'
import { backends } from '../kit/backends.ts'
import { eventually } from '../kit/eventually.ts'
import { gate } from '../kit/rig.ts'
import { SERVER_WITHIN_MS } from '../kit/servers/server.ts'
import { newPlace, type PgPlace } from '../pg/support.ts'
import { closedAfterEach } from '../kit/after-each.ts'

/** Makes the chunks of an answer, and writes to its transaction between them. */
type Chunks = (tx: PgTransaction) => AsyncGenerator<string>

type Options = Omit<IdempotencyOptions<never, PgTransaction>, 'caller' | 'fingerprint'>
type Frame = (chunks: Chunks, options: Options) => Promise<string>

const closing = closedAfterEach()

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/pay`
}

function txOf(claim: IdempotencyContext<PgTransaction> | undefined): PgTransaction {
  if (claim === undefined) throw new Error('the request has no claim')
  return claim.tx
}

/** The body of a `Response` takes no text. */
async function* inBytes(texts: AsyncIterable<string>): AsyncGenerator<Buffer> {
  for await (const text of texts) yield Buffer.from(text)
}

const caller = (): string => 'ann'

const FRAMES: Readonly<Record<string, Frame>> = {
  'Express, by writes': (chunks, options) => {
    const app = express()
    app.set('env', 'test')
    app.use(idempotency({ ...options, caller }).express)
    app.post('/pay', (request, response, next) => {
      const handle = async (): Promise<void> => {
        try {
          for await (const chunk of chunks(txOf(claimOf<PgTransaction>(request)))) response.write(chunk)
          response.end()
        } catch (error) {
          next(error)
        }
      }
      void handle()
    })
    return listen(app)
  },
  'Express, by a pipe': (chunks, options) => {
    const app = express()
    app.set('env', 'test')
    app.use(idempotency({ ...options, caller }).express)
    app.post('/pay', (request, response, next) => {
      Readable.from(chunks(txOf(claimOf<PgTransaction>(request))))
        .on('error', next)
        .pipe(response)
    })
    return listen(app)
  },
  'Fastify, by a stream': (chunks, options) => {
    const app = fastify()
    app.addHook('preHandler', idempotency({ ...options, caller }).fastify)
    app.post('/pay', async (request, reply) => reply.send(Readable.from(chunks(txOf(claimOf<PgTransaction>(request))))))
    closing.push(() => app.close())
    return app.listen({ port: 0, host: '127.0.0.1' }).then((url) => `${url}/pay`)
  },
  'a fetch handler, by a stream': (chunks, options) => {
    const handle = idempotency({ ...options, caller }).fetch((request) => {
      const tx = txOf(claimOf<PgTransaction>(request))
      return new Response(Readable.toWeb(Readable.from(inBytes(chunks(tx)))) as never)
    })
    const listener = getRequestListener((request) => handle(request).catch(() => new Response('no', { status: 500 })))
    return listen((request, response) => void listener(request, response))
  },
}

const LARGE = 'x'.repeat(3_000)

const post = async (url: string): Promise<readonly [number, string]> => {
  const response = await fetch(url, { method: 'POST', headers: { 'idempotency-key': 'k' } })
  return [response.status, await response.text()]
}
/** A connection that is closed without an answer counts as 0. */
const tried = (url: string): Promise<readonly [number, string]> => post(url).catch(() => [0, ''] as const)

/** The connection of a handler that failed may be closed before its transaction is rolled back. */
async function statusOnceFree(url: string): Promise<number> {
  let status = 409
  while (status === 409) [status] = await post(url)
  return status
}

const describeOnPostgres = backends.has('postgres') ? describe : describe.skip

describeOnPostgres('the end of a handler over HTTP, with an inbox', () => {
  let place: PgPlace
  beforeAll(async () => {
    place = await newPlace()
    // The tables are made here, and not within the time that a request waits for its store.
    await options('first').store.open()
  }, SERVER_WITHIN_MS)
  afterAll(() => place.close())

  const options = (scope: string): Options => ({
    store: postgresInbox({ pool: place.newPool(), schema: place.schema }),
    purge: 'never',
    scope,
    maxResponseBytes: 1_000,
  })
  const insert = (tx: PgTransaction, name: string): Promise<unknown> =>
    tx.query(`insert into ${place.schema}.effect (name) values ($1)`, [name])

  describe.each(Object.keys(FRAMES))('%s', (frame) => {
    it('commits at the end, for an answer that is too large to be kept too [T297]', async () => {
      const url = await FRAMES[frame]?.(
        async function* (tx) {
          yield LARGE
          await insert(tx, `after-${frame}`)
          yield LARGE
        },
        options(`end-${frame}`),
      )
      const [status, body] = await post(url ?? '')
      expect([status, body.length]).toEqual([200, 6_000])
      expect(await place.committed(`after-${frame}`)).toBe(1)
      const [again, text] = await post(url ?? '')
      expect([again, text]).toEqual([409, expect.stringContaining('RESPONSE_NOT_KEPT')])
      expect(await place.committed(`after-${frame}`)).toBe(1)
    })

    it('commits nothing of a handler that fails after a part of its answer, and frees the key', async () => {
      let runs = 0
      const name = `part-${frame}`
      const url = await FRAMES[frame]?.(async function* (tx) {
        runs++
        await insert(tx, name)
        yield LARGE
        if (runs === 1) throw new Error('in the middle')
      }, options(name))
      expect((await tried(url ?? ''))[0]).not.toBe(200)
      expect(await place.committed(name)).toBe(0)
      expect(await statusOnceFree(url ?? '')).toBe(200)
      expect([runs, await place.committed(name)]).toEqual([2, 1])
    })

    it('holds no answer without a bound: over 64 MiB nothing is committed, and the key is free', async () => {
      let runs = 0
      const name = `endless-${frame}`
      const eightMiB = 'x'.repeat(8 * 1024 * 1024)
      const url = await FRAMES[frame]?.(async function* (tx) {
        runs++
        await insert(tx, name)
        for (let i = 0; i < (runs === 1 ? 12 : 1); i++) yield eightMiB
      }, options(name))
      expect((await tried(url ?? ''))[0]).not.toBe(200)
      expect(await place.committed(name)).toBe(0)
      expect(await statusOnceFree(url ?? '')).toBe(200)
      expect([runs, await place.committed(name)]).toEqual([2, 1])
    })
  })

  const answering = async (
    scope: string,
    handler: (response: ServerResponse & { json(value: unknown): unknown }, tx: PgTransaction) => Promise<void>,
  ): Promise<string> => {
    const app = express()
    app.set('env', 'test')
    app.use(idempotency({ ...options(scope), caller }).express)
    app.post('/pay', (request, response) => handler(response, txOf(claimOf<PgTransaction>(request))))
    return listen(app)
  }

  it('refuses a query after the answer, and the answer is not given if the query came before the COMMIT [T298]', async () => {
    let refused: unknown
    const url = await answering('floating', async (response, tx) => {
      await insert(tx, 'before-answer')
      response.json({ paid: true })
      await insert(tx, 'after-answer').catch((error: { code?: unknown }) => {
        refused = error.code
      })
    })
    expect((await post(url))[0]).toBe(500)
    expect([await place.committed('before-answer'), await place.committed('after-answer')]).toEqual([0, 0])
    expect(['FLOATING_QUERY', 'TRANSACTION_OVER']).toContain(refused)
  })

  describe.each([
    ['Express 5', () => express],
    ['Express 4', () => require('express-4') as typeof express],
  ] as const)('%s', (frame, load) => {
    it.each([
      ['that looks at headersSent', true],
      ['that does not', false],
    ] as const)('an error handler %s is told of the query, and the client gets no stack', async (_which, looks) => {
      const make = load()
      const app = make()
      app.set('env', 'development')
      const told: unknown[] = []
      const logged = jest.spyOn(console, 'error').mockImplementation(() => {})
      app.use(idempotency({ ...options(`told ${frame} ${looks}`), caller }).express)
      app.post('/pay', (request, response, next) => {
        const handle = async (): Promise<void> => {
          const tx = txOf(claimOf<PgTransaction>(request))
          response.status(201).json({ paid: true })
          try {
            await tx.query('select pg_sleep(0.5)')
          } catch (error) {
            next(error)
          }
        }
        void handle()
      })
      app.use(((error: { code?: unknown }, _request, response, next) => {
        told.push(error.code)
        if (looks && response.headersSent) return next(error)
        response.status(500).json({ failed: true })
      }) satisfies express.ErrorRequestHandler)
      const [status, body] = await post(await listen(app))
      expect(status).toBe(500)
      // The end of the request may be known before the query fails: then the error handler answers.
      expect([{ failed: true }, expect.objectContaining({ code: 'FLOATING_QUERY' })]).toContainEqual(JSON.parse(body))
      expect(body).not.toMatch(/\bat |\.ts|\.js/)
      expect(told).toEqual(['FLOATING_QUERY'])
      // The log of Express gets the error of the end too.
      await eventually(() => logged.mock.calls.flat().some((line) => String(line).includes('did not await')))
      logged.mockRestore()
    })
  })

  it('refuses a query after the COMMIT, and the answer stands', async () => {
    let refused: unknown
    const told = gate()
    const url = await answering('late', async (response, tx) => {
      await insert(tx, 'before-late')
      response.json({ paid: true })
      await new Promise<void>((resolve) => void response.once('finish', resolve))
      await insert(tx, 'after-late').catch((error: { code?: unknown }) => {
        refused = error.code
      })
      told.open()
    })
    expect(await post(url)).toEqual([200, '{"paid":true}'])
    await told.opened
    expect([await place.committed('before-late'), await place.committed('after-late')]).toEqual([1, 0])
    expect(refused).toBe('TRANSACTION_OVER')
  })

  it('after a refusal, an inbox frees the key for the same request only', async () => {
    let runs = 0
    const app = express()
    app.use(express.json())
    app.use(idempotency({ ...options('free'), caller }).express)
    app.post('/pay', (_request, response) => void response.status(++runs === 1 ? 400 : 201).end())
    const url = await listen(app)
    const pay = async (cents: number): Promise<number> => {
      const headers = { 'idempotency-key': 'k', 'content-type': 'application/json' }
      return (await fetch(url, { method: 'POST', headers, body: JSON.stringify({ cents }) })).status
    }
    expect([await pay(0), await pay(5), await pay(0)]).toEqual([400, 422, 201])
  })
})

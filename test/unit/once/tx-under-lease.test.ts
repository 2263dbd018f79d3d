import { describe, expect, it, jest } from '@jest/globals'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { once } from 'consume-once'
import { memoryStore } from 'consume-once/memory'
import { claimOf, idempotency } from 'consume-once/http'
import { closedAfterEach } from '../../kit/after-each.ts'

interface WithTx {
  readonly tx: { query(text: string): Promise<void> }
}

const insert = (context: object): Promise<void> => (context as WithTx).tx.query('insert')
const look = (context: object): unknown =>
  'tx' in { ...context } ? 'copied' : String((context as { tx?: unknown }).tx)
const answer = async (request: Request): Promise<Response> => {
  await insert(claimOf(request) ?? {})
  return new Response('done')
}
const SENTENCE = /^context\.tx: expected a store that opens a transaction, such as postgresInbox/

const closing = closedAfterEach()

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  closing.push(() => server.close())
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/pay`
}

const guard = () => idempotency({ store: memoryStore(), caller: () => 'me', purge: 'never' })

/** Servers whose route calls this with its claim, and answers when it has ended. */
const SERVED: Readonly<Record<string, (work: (claim: object) => Promise<unknown>) => Promise<string>>> = {
  Express: (work) => {
    const app = express()
    app.set('env', 'test')
    app.use(guard().express)
    app.post('/pay', (request, response, next) => {
      work(claimOf(request) ?? {}).then(() => response.end('done'), next)
    })
    return listen(app)
  },
  Fastify: async (work) => {
    const app = fastify()
    app.addHook('preHandler', guard().fastify)
    app.post('/pay', (request) => work(claimOf(request) ?? {}).then(() => 'done'))
    closing.push(() => app.close())
    return `${await app.listen({ port: 0, host: '127.0.0.1' })}/pay`
  },
  Hono: (work) => {
    const app = new Hono()
    app.onError((error, context) => context.text(error.message, 500))
    app.use(guard().hono)
    app.post('/pay', async (context) => {
      await work(claimOf(context) ?? {})
      return context.text('done')
    })
    const listener = getRequestListener(app.fetch)
    return listen((request, response) => void listener(request, response))
  },
}

describe('context.tx under a lease', () => {
  it('of once() says which store has a transaction, and frees the key', async () => {
    const store = memoryStore()
    const failed = once(store, 'a', insert)
    await expect(failed).rejects.toMatchObject({ message: expect.stringMatching(SENTENCE) })
    await expect(failed).rejects.toHaveProperty('cause')
    expect(await once(store, 'a', () => 'sent')).toEqual({ result: 'sent', replayed: false })
  })

  it('of once() says so where the function throws at once', async () => {
    await expect(once(memoryStore(), 'a', (context) => void insert(context))).rejects.toThrow(SENTENCE)
  })

  it('of once() is undefined, and no part of a copy, for a function that looks whether there is one', async () => {
    expect(await once(memoryStore(), 'a', look)).toMatchObject({ result: 'undefined' })
  })

  it('of once() leaves another failure as it is', async () => {
    const other = new TypeError('no tariff for undefined')
    const failing = (context: object): never => {
      void (context as { tx?: unknown }).tx
      throw other
    }
    await expect(once(memoryStore(), 'a', failing)).rejects.toBe(other)
  })

  it('of a guard of HTTP says which store has a transaction', async () => {
    const handler = idempotency({ store: memoryStore(), caller: () => 'me' }).fetch(answer)
    const request = new Request('http://localhost/pay', {
      method: 'POST',
      headers: { 'Idempotency-Key': 'a' },
      body: '{}',
    })
    await expect(handler(request)).rejects.toThrow(SENTENCE)
  })

  it.each(Object.keys(SERVED))('of %s, which answers the error itself, is told by one warning', async (framework) => {
    const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const url = (await SERVED[framework]?.((claim) => insert(claim))) ?? ''
    for (const key of ['a', 'b']) {
      const { status } = await fetch(url, { method: 'POST', headers: { 'idempotency-key': key } })
      expect(status).toBe(500)
    }
    const sentence = expect.stringMatching(/^claim\.tx: expected a store that opens a transaction/)
    expect(warned.mock.calls).toEqual([[sentence, { code: 'CONSUME_ONCE_NO_TRANSACTION' }]])
    warned.mockRestore()
  })

  it('of Express leaves a handler alone that looks for it, and one that fails without it', async () => {
    const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const looks = await SERVED['Express']?.(async (claim) => look(claim))
    const fails = await SERVED['Express']?.(() => Promise.reject(new Error('no')))
    for (const url of [looks, fails]) await fetch(url ?? '', { method: 'POST', headers: { 'idempotency-key': 'a' } })
    expect(warned).not.toHaveBeenCalled()
    warned.mockRestore()
  })
})

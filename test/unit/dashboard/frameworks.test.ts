import { describe, expect, it } from '@jest/globals'
import { createServer, request as requestOf, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { dashboardListener, serveDashboard, type Dashboard } from '../../../dashboard/server/index.ts'
import { Page, pagesFolder } from '../../kit/dashboard.ts'
import { CONSUMER, MemoryBoard } from './memory-board.ts'
import { closedAfterEach } from '../../kit/after-each.ts'

const closing = closedAfterEach()

async function listen(listener: RequestListener): Promise<string> {
  const server: Server = createServer(listener)
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  closing.push(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => void server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Each way that docs/dashboard.md shows. */
const MOUNTED: Readonly<Record<string, (board: Dashboard) => Promise<string>>> = {
  express: (board) => {
    const app = express()
    app.use('/ops', dashboardListener(board))
    return listen(app)
  },
  'express, behind a parser of bodies, as in Nest': (board) => {
    const app = express()
    app.use(express.json())
    app.use('/ops', dashboardListener(board))
    return listen(app)
  },
  fastify: async (board) => {
    const app = fastify()
    await app.register(async (scope) => {
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
      scope.all('/ops/*', (request, reply) => {
        reply.hijack()
        dashboardListener(board)(request.raw, reply.raw)
      })
    })
    closing.push(() => app.close())
    return app.listen({ port: 0, host: '127.0.0.1' })
  },
  hono: (board) => {
    const app = new Hono()
    app.all('/ops/*', (context) => board.fetch(context.req.raw))
    const listener = getRequestListener(app.fetch)
    return listen((request, response) => void listener(request, response))
  },
  'node:http': (board) => listen(dashboardListener(board)),
}

describe.each(Object.keys(MOUNTED))('mounted in %s', (name) => {
  it('serves its pages and answers reads and writes under its path', async () => {
    await using made = new MemoryBoard({ readOnly: false, basePath: '/ops' })
    await made.sendFailing('parked', ['p'])
    const origin = (await MOUNTED[name]?.(made.board)) ?? ''
    const page = new Page(`${origin}/ops/`)
    expect(await (await page.raw('')).text()).toContain('<base href="/ops/" />')
    expect(await (await page.raw('app-0123456789.js')).text()).toContain('there')
    expect((await page.get('GET api/session', {})).answer.consumers).toMatchObject([{ id: CONSUMER }])
    const asked = { consumer: CONSUMER, decision: 'done', matching: { state: 'parked' } } as const
    const { answer: preview } = await page.post('POST api/decisions/preview', asked)
    expect(preview.changing).toBe(1)
    const confirmed = { consumer: CONSUMER, token: preview.token, reason: 'OPS-1', confirm: 1 }
    expect((await page.post('POST api/decisions', confirmed)).answer).toMatchObject({ decided: 1 })
    const evil = { headers: { origin: 'https://evil.example' } }
    expect((await page.post('POST api/decisions/preview', asked, evil)).status).toBe(403)
  })
})

describe('serveDashboard', () => {
  it('listens on this machine, limits each client, and ends with its connections', async () => {
    await using made = new MemoryBoard()
    const served = await serveDashboard({ consumers: [made.entry], pages: pagesFolder(), port: 0 })
    expect(served.url).toBe(`http://127.0.0.1:${served.port}/`)
    expect((await new Page(served.url).raw('api/session')).status).toBe(200)
    await Promise.all([served.close(), served.close()])
    await expect(new Page(served.url).raw('api/session')).rejects.toThrow('fetch failed')
  })

  it('refuses a Host that is none, a path that is none, and another name', async () => {
    await using made = new MemoryBoard()
    const served = await serveDashboard({ consumers: [made.entry], pages: pagesFolder(), port: 0 })
    closing.push(() => served.close())
    const status = (host: string, path: string): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const options = { port: served.port, path, headers: { host } }
        requestOf(options, (response) => resolve(response.resume().statusCode))
          .on('error', reject)
          .end()
      })
    expect(await status('a b', '/')).toBe(400)
    expect(await status('localhost', 'http://evil.example/api/session')).toBe(400)
    expect(await status('evil.example', '/api/session')).toBe(403)
    expect(await status('localhost', '/../../secret.js')).toBe(404)
    expect(await status('localhost', '/api/session')).toBe(200)
  })

  it('tells that a port is taken', async () => {
    await using made = new MemoryBoard()
    const served = await serveDashboard({ consumers: [made.entry], pages: pagesFolder(), port: 0 })
    closing.push(() => served.close())
    const again = serveDashboard({ consumers: [made.entry], pages: pagesFolder(), port: served.port })
    await expect(again).rejects.toThrow('EADDRINUSE')
  })
})

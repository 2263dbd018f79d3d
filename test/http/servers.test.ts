import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { AddressInfo } from 'node:net'
import type { Server } from 'node:http'
import { Redis } from 'ioredis'
import { claimOf, type ExpressRequestLike, idempotency } from '../../adapters/http/index.ts'
import { postgresInbox, type PgTransaction } from '../../adapters/pg/index.ts'
import { redisLease } from '../../adapters/redis/index.ts'
import type { InboxStore, LeaseStore } from '../../src/internal.ts'
import { backends } from '../kit/backends.ts'
import { server, SERVER_WITHIN_MS } from '../kit/servers/server.ts'
import { newPlace, type PgPlace } from '../pg/support.ts'
import { redisHarness, type RedisHarness } from '../redis/harness.ts'

interface Claim {
  readonly tx?: PgTransaction
}

type Pay = (id: string, claim: Claim | undefined) => Promise<string>

const callerOf = ({ headers }: ExpressRequestLike): string | undefined => headers['x-user'] as string | undefined

/** What is used of Nest, which is loaded when the test runs: its decorators are called as functions. */
interface Nest {
  readonly Controller: () => (target: object) => void
  readonly Module: (about: object) => (target: object) => void
  readonly Post: (path: string) => (target: object, name: string, descriptor: PropertyDescriptor) => void
  readonly Req: () => (target: object, name: string, index: number) => void
}

interface NestApplication {
  listen(port: number, host: string): Promise<unknown>
  getHttpServer(): Server
  close(): Promise<void>
}

interface NestCore {
  readonly NestFactory: { create(module: object, options: object): Promise<NestApplication> }
}

interface MiddlewareConsumer {
  apply(middleware: unknown): { forRoutes(controller: object): unknown }
}

/** An application of Nest with one route, its classes made without the syntax of decorators. */
async function nest(store: LeaseStore | InboxStore<PgTransaction>, pay: Pay): Promise<NestApplication> {
  const { Controller, Module, Post, Req } = require('@nestjs/common') as Nest
  const { NestFactory } = require('@nestjs/core') as NestCore
  class Payments {
    async pay(request: ExpressRequestLike): Promise<{ readonly paid: string }> {
      const { id } = request.body as { readonly id: string }
      return { paid: await pay(id, claimOf(request) as Claim | undefined) }
    }
  }
  const route = Object.getOwnPropertyDescriptor(Payments.prototype, 'pay') as PropertyDescriptor
  Post('pay')(Payments.prototype, 'pay', route)
  Req()(Payments.prototype, 'pay', 0)
  Controller()(Payments)
  class App {
    configure(consumer: MiddlewareConsumer): void {
      consumer
        .apply(idempotency({ store: store as LeaseStore, caller: callerOf, purge: 'never' }).express)
        .forRoutes(Payments)
    }
  }
  Module({ controllers: [Payments] })(App)
  const app = await NestFactory.create(App, { logger: false })
  await app.listen(0, '127.0.0.1')
  return app
}

const describeOnBoth = backends.has('redis') && backends.has('postgres') ? describe : describe.skip

describeOnBoth('Idempotency-Key on real servers, in Nest', () => {
  let redis: RedisHarness
  let place: PgPlace
  const apps: NestApplication[] = []
  const clients: Redis[] = []
  beforeAll(async () => {
    redis = await redisHarness((await server('redis')).url)
    place = await newPlace()
  }, SERVER_WITHIN_MS)
  afterAll(async () => {
    await Promise.all(apps.map((app) => app.close()))
    for (const client of clients) client.disconnect()
    await Promise.all([redis.close(), place.close()])
  })

  const storeOn = {
    redis: async (): Promise<LeaseStore> => {
      const client = new Redis((await server('redis')).url)
      clients.push(client)
      return redisLease({ redis: client, prefix: redis.prefix })
    },
    postgres: async (): Promise<InboxStore<PgTransaction>> =>
      postgresInbox({ pool: place.newPool(), schema: place.schema }),
  }

  it.each(['redis', 'postgres'] as const)(
    'runs once for concurrent requests to two processes, on %s [T278]',
    async (on) => {
      let runs = 0
      const pay: Pay = async (id, claim) => {
        runs++
        await claim?.tx?.query(`insert into ${place.schema}.effect (name) values ($1)`, [id])
        return id
      }
      const pair = await Promise.all([nest(await storeOn[on](), pay), nest(await storeOn[on](), pay)])
      apps.push(...pair)
      const urls = pair.map((app) => `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}/pay`)
      const post = async (at: number): Promise<readonly [number, string | null, unknown]> => {
        const response = await fetch(urls[at % 2] ?? '', {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'idempotency-key': `"order-${on}"`, 'x-user': 'ann' },
          body: JSON.stringify({ id: `payment-${on}` }),
        })
        return [response.status, response.headers.get('idempotency-replayed'), await response.json()]
      }
      const answers = await Promise.all(Array.from({ length: 30 }, (_, at) => post(at)))
      expect(runs).toBe(1)
      expect(answers.filter(([status, replayed]) => status === 201 && replayed === null)).toHaveLength(1)
      expect(answers.filter(([status]) => status !== 201 && status !== 409)).toEqual([])
      expect(await post(1)).toEqual([201, 'true', { paid: `payment-${on}` }])
      expect(await place.committed(`payment-${on}`)).toBe(on === 'postgres' ? 1 : 0)
    },
  )
})

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { claimOf, idempotency, type IdempotencyContext, type IdempotencyOptions } from '../../adapters/http/index.ts'
import { mysqlInbox, type MysqlTransaction } from '../../adapters/mysql2/index.ts'
import { postgresInbox, type PgTransaction } from '../../adapters/pg/index.ts'
import { SERVER_WITHIN_MS } from '../kit/servers/server.ts'
import { describeMariadb, newMysqlPlace, threadOf, type MysqlPlace } from '../mysql/support.ts'
import { describePostgres, newPlace, type PgPlace } from '../pg/support.ts'
import { closedAfterEach } from '../kit/after-each.ts'

type Options<Tx> = Omit<IdempotencyOptions<never, Tx>, 'caller' | 'fingerprint'>
/** Answers 201 when it resolves. */
type Work<Tx> = (tx: Tx) => Promise<unknown>

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

function txOf<Tx>(claim: IdempotencyContext<Tx> | undefined): Tx {
  if (claim === undefined) throw new Error('the request has no claim')
  return (claim as unknown as { readonly tx: Tx }).tx
}

const caller = (): string => 'ann'

const FRAMES: Readonly<Record<string, <Tx>(work: Work<Tx>, options: Options<Tx>) => Promise<string>>> = {
  Express: <Tx>(work: Work<Tx>, options: Options<Tx>) => {
    const app = express()
    app.set('env', 'test')
    app.use(idempotency({ ...options, caller }).express)
    app.post('/pay', (request, response, next) => {
      work(txOf(claimOf<Tx>(request))).then(() => response.status(201).end(), next)
    })
    return listen(app)
  },
  Fastify: <Tx>(work: Work<Tx>, options: Options<Tx>) => {
    const app = fastify()
    app.addHook('preHandler', idempotency({ ...options, caller }).fastify)
    app.post('/pay', async (request, reply) => {
      await work(txOf(claimOf<Tx>(request)))
      return reply.code(201).send('')
    })
    closing.push(() => app.close())
    return app.listen({ port: 0, host: '127.0.0.1' }).then((url) => `${url}/pay`)
  },
  fetch: <Tx>(work: Work<Tx>, options: Options<Tx>) => {
    const handle = idempotency({ ...options, caller }).fetch(async (request) => {
      await work(txOf(claimOf<Tx>(request)))
      return new Response(null, { status: 201 })
    })
    const listener = getRequestListener((request) => handle(request).catch(() => new Response('no', { status: 500 })))
    return listen((request, response) => void listener(request, response))
  },
  Hono: <Tx>(work: Work<Tx>, options: Options<Tx>) => {
    const app = new Hono()
    app.use(idempotency({ ...options, caller }).hono)
    app.post('/pay', async (context) => {
      await work(txOf(claimOf<Tx>(context)))
      return context.body(null, 201)
    })
    const listener = getRequestListener(app.fetch)
    return listen((request, response) => void listener(request, response))
  },
}

async function post(url: string): Promise<readonly [status: number, code: unknown, retryAfter: string | null]> {
  const response = await fetch(url, { method: 'POST', headers: { 'idempotency-key': 'k' } })
  const text = await response.text()
  const { code } = (text.startsWith('{') ? JSON.parse(text) : {}) as { readonly code?: unknown }
  return [response.status, code, response.headers.get('retry-after')]
}

interface Rig<Tx> {
  readonly options: (scope: string) => Options<Tx>
  readonly write: (tx: Tx, name: string) => Promise<unknown>
  readonly committed: (name: string) => Promise<number>
  /** Ends of a transaction that are no fault of its handler. */
  readonly losses: Readonly<Record<string, (tx: Tx) => Promise<unknown>>>
}

/** What a client gets when the database ends the transaction of its request. `rig` is there when the tests run. */
function answersNothingCommitted<Tx>(losses: readonly string[], rig: () => Rig<Tx>): void {
  describe.each(Object.keys(FRAMES))('%s', (frame) => {
    it.each(losses)('%s: the client is told that nothing was committed, and its next request runs', async (loss) => {
      const { options, write, committed, losses: made } = rig()
      const name = `${frame} ${loss}`
      let runs = 0
      const url = await FRAMES[frame]?.<Tx>(async (tx) => {
        runs++
        await write(tx, name)
        if (runs === 1) await made[loss]?.(tx)
      }, options(name))
      expect(await post(url ?? '')).toEqual([503, 'NOTHING_COMMITTED', '1'])
      expect([runs, await committed(name)]).toEqual([1, 0])
      expect(await post(url ?? '')).toEqual([201, undefined, null])
      expect([runs, await committed(name)]).toEqual([2, 1])
    })
  })
}

const LOSSES = ['a deadlock', 'a deadlock that its handler swallows', 'a lost connection']

const conflictOnPostgres = (tx: PgTransaction): Promise<unknown> =>
  tx.query(`do $$ begin raise exception 'met' using errcode = '40P01'; end $$`)

const conflictOnMysql = (tx: MysqlTransaction): Promise<unknown> =>
  tx.query(`signal sqlstate '40001' set mysql_errno = 1213, message_text = 'met'`)

const swallowed = (error: unknown): void => void error

describePostgres('a request on postgresInbox whose transaction is lost', () => {
  let place: PgPlace
  let rig: Rig<PgTransaction>
  beforeAll(async () => {
    place = await newPlace()
    const pool = place.newPool()
    pool.on('error', swallowed)
    const store = postgresInbox({ pool, schema: place.schema })
    await store.open()
    const kill = async (tx: PgTransaction): Promise<void> => {
      const { rows } = await tx.query<{ pid: number }>('select pg_backend_pid() as pid')
      await place.terminate(rows[0]?.pid ?? 0)
    }
    rig = {
      options: (scope) => ({ store, purge: 'never', scope }),
      write: (tx, name) => place.write(tx, name),
      committed: (name) => place.committed(name),
      losses: {
        'a deadlock': conflictOnPostgres,
        'a deadlock that its handler swallows': (tx) => conflictOnPostgres(tx).catch(swallowed),
        'a lost connection': kill,
        'a lost connection that its handler meets': async (tx) => {
          await kill(tx)
          await tx.query('select 1')
        },
      },
    }
  }, SERVER_WITHIN_MS)
  afterAll(() => place.close())

  answersNothingCommitted([...LOSSES, 'a lost connection that its handler meets'], () => rig)

  it('a request that its database refuses at the COMMIT is no lost one: it is answered as a failure', async () => {
    await place.pool.query(
      `create table ${place.schema}.one (id int, constraint one_id unique (id) deferrable initially deferred)`,
    )
    const url = await FRAMES['Express']?.<PgTransaction>(async (tx) => {
      await tx.query(`insert into ${place.schema}.one values (1), (1)`)
    }, rig.options('deferred'))
    expect(await post(url ?? '')).toEqual([500, undefined, null])
  })
})

describeMariadb('a request on mysqlInbox whose transaction is lost', () => {
  let place: MysqlPlace
  let rig: Rig<MysqlTransaction>
  beforeAll(async () => {
    place = await newMysqlPlace()
    const store = mysqlInbox({ pool: place.newPool() })
    await store.open()
    const kill = async (tx: MysqlTransaction): Promise<void> =>
      void (await place.pool.query(`kill ${await threadOf(tx)}`))
    rig = {
      options: (scope) => ({ store, purge: 'never', scope }),
      write: (tx, name) => place.write(tx, name),
      committed: (name) => place.committed(name),
      losses: {
        'a deadlock': conflictOnMysql,
        'a deadlock that its handler swallows': (tx) => conflictOnMysql(tx).catch(swallowed),
        'a lost connection': kill,
      },
    }
  }, SERVER_WITHIN_MS)
  afterAll(() => place.close())

  answersNothingCommitted(LOSSES, () => rig)

  // The driver says only that it cannot write, and the handler answers that.
  it('a lost connection that the handler meets is its failure, and the key is free', async () => {
    let runs = 0
    const url = await FRAMES['Express']?.<MysqlTransaction>(async (tx) => {
      await rig.write(tx, 'met')
      if (++runs > 1) return
      await rig.losses['a lost connection']?.(tx)
      await tx.query('select 1')
    }, rig.options('met'))
    expect(await post(url ?? '')).toEqual([500, undefined, null])
    expect(await place.committed('met')).toBe(0)
    expect(await post(url ?? '')).toEqual([201, undefined, null])
    expect(await place.committed('met')).toBe(1)
  })
})

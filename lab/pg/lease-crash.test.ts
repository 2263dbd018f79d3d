import { describe, expect, it } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { Pool } from 'pg'
import { postgresLease } from '../../adapters/pg/index.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { server } from '../../test/kit/servers/server.ts'
import { Rabbit } from '../../test/rabbitmq/rabbit.ts'
import { backends } from '../../test/kit/backends.ts'
import { newPlace, type PgPlace } from '../../test/pg/support.ts'
import { RabbitWorker, type CrashPoint } from '../kit/mortal/worker.ts'

const describeOnBoth = backends.has('postgres') && backends.has('rabbitmq') ? describe : describe.skip

interface Ending {
  readonly outcome: string
  /** Handlers that were started, and effects, in both processes. */
  readonly starts: number
  readonly effects: number
}

const RERUN: Readonly<Partial<Record<CrashPoint, Ending>>> = {
  'before the handler': { outcome: 'handled', starts: 1, effects: 1 },
  // The effect may have happened, so the handler runs again. No other point repeats an effect.
  'before the mark': { outcome: 'handled', starts: 2, effects: 2 },
  'after the mark': { outcome: 'duplicate', starts: 1, effects: 1 },
}

const PARK: typeof RERUN = {
  'before the handler': { outcome: 'parked', starts: 0, effects: 0 },
  'before the mark': { outcome: 'parked', starts: 1, effects: 1 },
  'after the mark': { outcome: 'duplicate', starts: 1, effects: 1 },
}

describeOnBoth('a process with leases on Postgres that is killed between claim, effect, mark and ack', () => {
  let rabbit: Rabbit
  let place: PgPlace
  let postgres = ''
  beforeAllOpen(async (own) => {
    rabbit = own(await Rabbit.open())
    postgres = (await server('postgres')).url
    place = own(await newPlace(postgres))
  })

  const workerOn = (queue: string, how: { readonly dieAt?: CrashPoint; readonly onInDoubt: 'rerun' | 'park' }) =>
    new RabbitWorker({
      url: rabbit.url,
      options: [{ queue }],
      store: { on: 'postgres', strategy: 'lease', url: postgres, schema: place.schema },
      ...how,
    })

  /** One message: a process that dies while handling it, and one that continues. */
  async function live(queue: string, dieAt: CrashPoint, onInDoubt: 'rerun' | 'park'): Promise<Ending> {
    await using first = workerOn(queue, { dieAt, onInDoubt })
    await first.untilTold('running')
    await rabbit.send(queue, [JSON.stringify({ id: queue })])
    expect(await first.ended).toBe('SIGKILL')
    await using second = workerOn(queue, { onInDoubt })
    const outcomes = (): readonly string[] =>
      ['handled', 'duplicate', 'parked', 'dead-lettered'].filter((outcome) => second.told(outcome).length > 0)
    await second.until(() => outcomes().length > 0)
    await second.stop()
    expect(await rabbit.takeLeft(queue)).toEqual([])
    const count = (what: string): number => first.told(what).length + second.told(what).length
    return { outcome: outcomes().join(), starts: count('started'), effects: count('effect') }
  }

  it.each([
    ['rerun', RERUN],
    ['park', PARK],
  ] as const)(
    'ends as its policy says: %s [T31]',
    async (onInDoubt, endings) => {
      const points = Object.keys(endings) as CrashPoint[]
      const lives = await Promise.all(
        points.map(async (point) => [point, await live(rabbit.name(), point, onInDoubt)] as const),
      )
      expect(Object.fromEntries(lives)).toEqual(endings)
    },
    90_000,
  )

  it('runs a parked message once a person decides so', async () => {
    const queue = rabbit.name()
    await live(queue, 'before the mark', 'park')
    const pool = new Pool({ connectionString: postgres, max: 1 })
    const { admin } = postgresLease({ pool, schema: place.schema })
    const scope = await scopeOf(pool, queue)
    const page = await admin?.list(scope, { state: 'parked', limit: 10 })
    const keys = page?.records.map(({ key }) => key) ?? []
    const why = { by: 'somebody', reason: uniqueName('ticket'), retentionMs: 60_000 }
    expect(await admin?.resolve(scope, keys, { as: 'rerun', ...why })).toEqual(['decided'])
    await pool.end()
    await using worker = workerOn(queue, { onInDoubt: 'park' })
    await worker.untilTold('running')
    await rabbit.send(queue, [JSON.stringify({ id: queue })])
    await worker.untilTold('handled')
    await worker.stop()
  }, 90_000)

  async function scopeOf(pool: Pool, queue: string): Promise<string> {
    const { rows } = await pool.query<{ name: string }>(`select name from ${place.schema}.scope`)
    const name = rows.find((row) => row.name.includes(queue))?.name
    if (name === undefined) throw new Error(`expected a scope of ${queue}, got ${JSON.stringify(rows)}`)
    return name
  }
})

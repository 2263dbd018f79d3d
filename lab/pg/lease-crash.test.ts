import { describe, expect, it } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { Pool } from 'pg'
import { postgresLease } from '../../adapters/pg/index.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { Rabbit } from '../../test/rabbitmq/rabbit.ts'
import { backends } from '../../test/kit/backends.ts'
import { AFTER_RERUN, die, endingsOf, MARKED, workerOn, type Ending, type Endings } from '../kit/mortal/lives.ts'
import { LEASES_ON, type WorkerStore } from '../kit/worker-stores.ts'
import type { PostgresSpec } from '../kit/worker/spec.ts'

const describeOnBoth = backends.has('postgres') && backends.has('rabbitmq') ? describe : describe.skip

const RERUN: Endings = {
  'before the handler': { ...AFTER_RERUN, starts: 1 },
  // The effect may have happened, so the handler runs again. No other point repeats an effect.
  'before the mark': { ...AFTER_RERUN, effects: 2 },
  'after the mark': MARKED,
}

const PARKED: Ending = { outcome: 'parked', starts: 1, effects: 1, deadLetters: 1 }
const PARK: Endings = {
  'before the handler': { ...PARKED, starts: 0, effects: 0 },
  'before the mark': PARKED,
  'after the mark': MARKED,
}

describeOnBoth('a process with leases on Postgres that is killed between claim, effect, mark and ack', () => {
  let rabbit: Rabbit
  let store: WorkerStore<PostgresSpec>
  beforeAllOpen(async (own) => {
    rabbit = own(await Rabbit.open())
    store = own(await LEASES_ON.postgres())
  })

  it.each([
    ['rerun', RERUN],
    ['park', PARK],
  ] as const)(
    'ends as its policy says: %s [T31]',
    async (onInDoubt, endings) => {
      expect(await endingsOf({ rabbit, store, onInDoubt }, Object.keys(endings))).toEqual(endings)
    },
    90_000,
  )

  it('runs a parked message once a person decides so', async () => {
    const on = { rabbit, store, onInDoubt: 'park' } as const
    const { options, id } = await die(on, 'before the mark')
    await using worker = workerOn(on, [options])
    await worker.untilTold('parked')
    const { url, schema = '' } = store.spec
    const pool = new Pool({ connectionString: url, max: 1 })
    const { admin } = postgresLease({ pool, schema })
    const { rows } = await pool.query<{ name: string }>(`select name from ${schema}.scope`)
    const scope = rows.find(({ name }) => name.includes(options.queue))?.name ?? 'none of this queue'
    const page = await admin?.list(scope, { state: 'parked', limit: 10 })
    const keys = page?.records.map(({ key }) => key) ?? []
    const why = { by: 'somebody', reason: uniqueName('ticket'), retentionMs: 60_000 }
    expect(await admin?.resolve(scope, keys, { as: 'rerun', ...why })).toEqual(['decided'])
    await pool.end()
    await rabbit.send(options.queue, [JSON.stringify({ id })])
    await worker.untilTold('handled')
    await worker.stop()
  }, 90_000)
})

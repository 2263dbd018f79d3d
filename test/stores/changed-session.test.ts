import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { postgresInbox } from '../../adapters/pg/index.ts'
import { MemoryBroker, defineConsumer, messageId, runMemory } from '../../src/index.ts'
import { backends } from '../kit/backends.ts'
import { gate } from '../kit/rig.ts'
import { SERVER_WITHIN_MS } from '../kit/servers/server.ts'
import { newPlace, type PgPlace } from '../pg/support.ts'

const SEEN = `select current_setting('search_path') as path, to_regclass('pg_temp.effect') is not null as has`

const describeOnPostgres = backends.has('postgres') ? describe : describe.skip

describeOnPostgres('a shared transaction whose session a handler has changed', () => {
  let place: PgPlace
  beforeAll(async () => {
    place = await newPlace()
  }, SERVER_WITHIN_MS)
  afterAll(() => place.close())

  it.each([
    ['set local search_path to pg_catalog'],
    [`select set_config('search_path', 'pg_catalog', true)`],
    ['create temporary table effect (name text) on commit drop'],
  ])('ends before the next handler: %s', async (statement) => {
    const store = postgresInbox({ pool: place.newPool(), schema: place.schema })
    await store.open()
    await place.newPool({ max: 1 }).query(`truncate ${place.schema}.effect`)
    const seen = new Set<string>()
    const broker = new MemoryBroker()
    for (let at = 0; at < 60; at++)
      broker.publish('t', { value: Buffer.from('{}'), headers: { id: `${statement}-${at}` } })
    let handled = 0
    const done = gate()
    const consumer = defineConsumer({
      name: 'changed',
      id: messageId.header('id'),
      store,
      handle: async ({ tx }) => {
        const { rows } = await tx.query(SEEN)
        seen.add(JSON.stringify(rows))
        if (++handled % 5 === 0) await tx.query(statement)
        if (handled === 60) done.open()
      },
    })
    const running = await runMemory(broker, consumer, { topic: 't', group: 'g' })
    await done.opened
    await running.stop()
    expect([...seen]).toHaveLength(1)
  })
})

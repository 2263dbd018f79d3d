import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { mysqlInbox } from '../../adapters/mysql2/index.ts'
import { postgresInbox } from '../../adapters/pg/index.ts'
import { defineConsumer, messageId } from '../../src/index.ts'
import { MemoryBroker, runMemory } from '../../src/memory/index.ts'
import { backends } from '../kit/backends.ts'
import { gate } from '../kit/rig.ts'
import { SERVER_WITHIN_MS } from '../kit/servers/server.ts'
import { describeMariadb, newMysqlPlace, type MysqlPlace } from '../mysql/support.ts'
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

describeMariadb('a shared transaction whose session a handler has changed, on MariaDB', () => {
  let place: MysqlPlace
  let marked = 0
  const another = (): string => `${place.database}_b`
  beforeAll(async () => {
    place = await newMysqlPlace()
    await place.pool.query(`insert into effect (name) values ('seen by all')`)
    await place.pool.query(`create database ${another()}`)
  }, SERVER_WITHIN_MS)
  afterAll(async () => {
    await place.pool.query(`drop database ${another()}`)
    await place.close()
  })

  it.each([
    ['use another database'],
    [`set session sql_mode = ''`],
    ['set @@session.div_precision_increment = 9'],
    ['create temporary table effect (name varchar(200) not null)'],
  ])('ends before the next handler, and reaches no connection of the pool: %s', async (statement) => {
    const pool = place.newPool({ connectionLimit: 3 })
    const change = statement.replace('another database', another())
    const store = mysqlInbox({ pool })
    await store.open()
    const ofSession = `select database() as db, @@session.sql_mode as mode, @@session.div_precision_increment as digits,
      (select count(*) from \`${place.database}\`.effect) as rows_seen`
    const seen = new Set<string>()
    const broker = new MemoryBroker()
    for (let at = 0; at < 60; at++)
      broker.publish('t', { value: Buffer.from('{}'), headers: { id: `${statement}-${at}` } })
    const outcomes: string[] = []
    const done = gate()
    const consumer = defineConsumer({
      name: 'changed',
      id: messageId.header('id'),
      store,
      handle: async ({ tx }) => {
        const [rows] = await tx.query(ofSession)
        seen.add(JSON.stringify(rows))
        outcomes.push('ran')
        if (outcomes.length % 5 === 0) await tx.query(change)
        if (outcomes.length === 60) done.open()
      },
    })
    const running = await runMemory(broker, consumer, { topic: 't', group: 'g' })
    await done.opened
    await running.stop()
    for (let at = 0; at < 3; at++) seen.add(JSON.stringify((await pool.query(ofSession))[0]))
    expect([...seen]).toHaveLength(1)
    expect(outcomes).toHaveLength(60)
    const [row] = await place.rows(
      `select count(*) as n, min(outcome) as first, max(outcome) as last from consume_once_inbox`,
    )
    expect(row).toMatchObject({ first: 'd', last: 'd', n: (marked += 60) })
  })
})

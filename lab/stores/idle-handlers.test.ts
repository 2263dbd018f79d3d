import { describe, expect, it } from '@jest/globals'
import { defineConsumer, doctor, messageId, type ObserverEvent, type Store } from '../../src/index.ts'
import { MemoryBroker, runMemory } from '../../src/memory/index.ts'
import { describeError } from '../../src/internal.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { hold, newItem } from '../../testing/contract/store/claims.ts'
import { describeMariadb, lend, newMysqlPlace } from '../../test/mysql/support.ts'
import { describePostgres, newPlace } from '../../test/pg/support.ts'
import { closedAfterEach } from '../../test/kit/after-each.ts'

const closing = closedAfterEach()

interface Place<Tx> {
  readonly newInbox: (options: { readonly idleInTransactionTimeoutMs: number }) => Promise<Store<Tx>>
  /** Writes, and then sends nothing until the server has ended the transaction. */
  readonly outlast: (tx: Tx) => Promise<unknown>
  readonly committed: (effect: string) => Promise<number>
  readonly close: () => Promise<void>
}

const LIMIT = { idleInTransactionTimeoutMs: 1_000 }

async function endOf<Tx>(place: Place<Tx>): Promise<unknown> {
  closing.push(place.close)
  const broker = new MemoryBroker()
  broker.publish('topic', { value: Buffer.from(''), headers: { id: 'slow' } })
  const events: ObserverEvent[] = []
  let runs = 0
  const consumer = defineConsumer<unknown, unknown, Tx>({
    name: 'slow',
    id: messageId.header('id'),
    decode: () => undefined,
    maxAttempts: 2,
    backoff: { initialMs: 5, maxMs: 10 },
    observe: (event) => void events.push(event),
    store: await place.newInbox(LIMIT),
    handle: async (context) => {
      runs++
      await place.outlast((context as unknown as { tx: Tx }).tx)
    },
  })
  const { findings } = await doctor(consumer)
  const running = await runMemory(broker, consumer, { topic: 'topic', group: 'group' })
  closing.push(() => running.stop({ deadlineMs: 1_000 }))
  await eventually(() => broker.deadLetters.length > 0)
  const told = events.flatMap((event) => {
    if (event.type === 'attempt-failed') return [`failed: ${describeError(event.error)}`]
    if (event.type === 'delivery' && event.outcome === 'dead-lettered') return [`dead-lettered: ${event.detail}`]
    return event.type === 'source' && event.isWarning === true ? [`${event.event}: ${event.detail}`] : []
  })
  const doubted = findings.filter(({ check }) => check === 'store.idle-limit').map(({ found }) => found)
  return { runs, told, doubted, committed: await place.committed('slow') }
}

const NAMED = {
  runs: 2,
  told: [
    expect.stringMatching(/^idle-limit-too-short: idleInTransactionTimeoutMs 1000 .*handlerTimeoutMs/),
    expect.stringMatching(/^failed: .*idleInTransactionTimeoutMs 1000/),
    expect.stringMatching(/^dead-lettered: .*idleInTransactionTimeoutMs 1000/),
  ],
  doubted: [expect.stringContaining('idleInTransactionTimeoutMs 1000')],
  committed: 0,
}

describe('a handler that sends nothing for longer than its transaction may be idle', () => {
  describeMariadb('on MariaDB', () => {
    it('fails, and the dead letter names the limit', async () => {
      const place = await newMysqlPlace()
      const end = await endOf({
        ...place,
        outlast: async (tx) => {
          const [rows] = await tx.query<{ id: number }[]>('select connection_id() as id')
          await place.write(tx, 'slow')
          const alive = `select id from information_schema.processlist where id = ${rows[0]?.id}`
          await eventually(async () => (await place.rows(alive)).length === 0)
        },
      })
      expect(end).toEqual(NAMED)
    })

    it('is not ended by limits of its session', async () => {
      const place = await newMysqlPlace()
      closing.push(place.close)
      const pool = place.newPool({ connectionLimit: 2 })
      const names = place.isMariadb
        ? ['idle_transaction_timeout', 'idle_write_transaction_timeout', 'wait_timeout']
        : ['wait_timeout']
      pool.on('connection', (connection) => {
        for (const name of names) void connection.query(`set session ${name} = 1`)
      })
      const inbox = await place.newInbox({ pool })
      const { claim } = await hold(inbox, newItem())
      const { tx } = lend(claim)
      await place.write(tx, 'slow')
      const written = performance.now()
      await eventually(() => performance.now() - written > 2_500)
      expect(await inbox.mark([claim])).toEqual(['marked'])
      expect(await place.committed('slow')).toBe(1)
      // As it was for the next user of the connection.
      const connection = await pool.getConnection()
      const [rows] = await connection.query(`select ${names.map((name) => `@@session.${name} as ${name}`).join(', ')}`)
      connection.release()
      expect(rows).toEqual([Object.fromEntries(names.map((name) => [name, 1]))])
    })
  })

  describePostgres('on Postgres', () => {
    it('fails, and the dead letter names the limit', async () => {
      const place = await newPlace()
      const end = await endOf({
        ...place,
        outlast: async (tx) => {
          const { rows } = await tx.query('select pg_backend_pid() as pid')
          await place.write(tx, 'slow')
          const alive = `select 1 from pg_stat_activity where pid = ${Number(rows[0]?.['pid'])}`
          await eventually(async () => (await place.pool.query(alive)).rowCount === 0)
        },
      })
      expect(end).toEqual(NAMED)
    })
  })
})

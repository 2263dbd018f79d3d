import { expect, it } from '@jest/globals'
import { beforeAllOpen } from '../kit/opened.ts'
import type { Pool } from 'mysql2/promise'
import { mysqlInbox, mysqlLease, type MysqlTransaction } from '../../adapters/mysql2/index.ts'
import type { Store } from '../../src/ports/store.ts'
import { startProxyOf, type ProxyOf } from '../kit/fault-proxy.ts'
import { server } from '../kit/servers/server.ts'
import { describeMariadb, newMysqlPlace } from '../mysql/support.ts'
import { changes } from './changes.ts'
import type { Counted } from './expected.ts'
import { countedRun, meterOf, type Options } from './consumed.ts'
import { Lockstep } from './lockstep.ts'
import { MysqlWire } from './mysql-wire.ts'

const CONNECTIONS = 5
/** The version whose plans are in the table: another one may read other rows for the same statement. */
const PLANNER = '10.11'

describeMariadb(`what 1,000 messages cost at MariaDB (rows read: on ${PLANNER} alone) or MySQL`, () => {
  let proxy: ProxyOf | undefined
  let wire = new MysqlWire()

  beforeAllOpen(
    async (own) => (proxy = own(await startProxyOf((await server('mariadb')).url, 3_306, () => wire.connection()))),
  )

  const counted = (
    scene: string,
    storeOn: (pool: Pool) => Store<MysqlTransaction>,
    optionsOf: (gate: Lockstep) => Omit<Options<MysqlTransaction>, 'store'>,
  ): void => {
    it(`costs what it did: ${scene}`, async () => {
      const place = await newMysqlPlace()
      try {
        wire = new MysqlWire()
        const pool = place.newPool({ uri: proxy?.url ?? '', connectionLimit: CONNECTIONS, idleTimeout: 3_600_000 })
        const store = storeOn(pool)
        await store.open()
        const gate = new Lockstep(false)
        const meter = meterOf(
          () => wire.counts,
          () => statusOf(pool),
        )
        const options = { ...optionsOf(gate), store } as Options<MysqlTransaction>
        const { 'rows read': read = 0, ...counts } = await countedRun(options, gate, meter)
        const [about] = await place.rows('select version() as version')
        const version = String(about?.['version'])
        const isPlanner = version.startsWith(`${PLANNER}.`)
        const ofPlans = isPlanner ? changes(`${scene}, by the plans of ${PLANNER}`, { 'rows read': read }) : ''
        // MySQL gets other statements, and has other counters.
        const named = version.includes('MariaDB') ? scene : scene.replace('MariaDB', 'MySQL')
        expect([changes(named, counts), ofPlans].join('\n').trim()).toBe('')
      } finally {
        await place.close()
      }
    })
  }

  counted('MariaDB inbox, handle', inbox, () => ({ handle: () => {} }))
  counted('MariaDB inbox, handleBatch', inbox, (gate) => ({
    handleBatch: ({ messages, tx }) =>
      gate.ask(() => tx.query(`insert into effect (name) values ${messages.map(() => "('effect')").join(', ')}`)),
  }))
  counted(
    'MariaDB lease, 256 handlers at once',
    (pool) => mysqlLease({ pool }),
    () => ({
      concurrency: 256,
      handle: () => {},
    }),
  )
})

function inbox(pool: Pool): Store<MysqlTransaction> {
  return mysqlInbox({ pool })
}

/** Counters of sessions, and what we call them. */
const STATUS: Readonly<Record<string, string>> = {
  Com_commit: 'commits',
  Com_rollback: 'rollbacks',
  Com_begin: 'begins',
  Com_select: 'selects',
  Com_insert: 'inserts',
  Com_insert_select: 'inserts from select',
  Com_update: 'updates',
  Com_update_multi: 'updates of several tables',
  Com_delete: 'deletes',
  Com_delete_multi: 'deletes from several tables',
  Com_set_option: 'sets',
  Rows_sent: 'rows returned',
  Rows_read: 'rows read',
  Handler_write: 'rows inserted',
  Handler_update: 'rows updated',
  Handler_delete: 'rows deleted',
}

/** Of all connections of the pool, which are idle. */
async function statusOf(pool: Pool): Promise<Counted> {
  const sums: Record<string, number> = {}
  const connections = await Promise.all(Array.from({ length: CONNECTIONS }, () => pool.getConnection()))
  for (const connection of connections) {
    const names = Object.keys(STATUS).map((name) => `'${name}'`)
    const [rows] = await connection.query(`show session status where variable_name in (${names.join(', ')})`)
    for (const { Variable_name: name, Value: value } of rows as { Variable_name: string; Value: string }[]) {
      const own = STATUS[name] ?? name
      sums[own] = (sums[own] ?? 0) + Number(value)
    }
    connection.release()
  }
  return sums
}

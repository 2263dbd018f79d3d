import type { SequenceOptions } from 'consume-once'
import { postgresLease, postgresSequences, type PostgresLeaseOptions } from '../../adapters/pg/index.ts'
import type { Store } from '../../src/index.ts'
import type { LeaseHarness } from '../../testing/contract/store/harness.ts'
import { newPlace, type PgPlace } from './support.ts'

export interface PgLeaseHarness extends LeaseHarness {
  readonly store: Store
  readonly secondStore: () => Promise<Store>
  readonly place: PgPlace
  /** Opened, on a pool of its own unless one is given. */
  readonly newLease: (options?: Partial<PostgresLeaseOptions>) => Promise<Store>
  /** Makes every record older by so much. */
  readonly age: (ms: number) => Promise<void>
  /** What the table holds of a key. */
  readonly look: (key: string) => Promise<LeaseRow | undefined>
}

interface LeaseRow {
  readonly state: string
  readonly fence: number
  readonly attempts: number
  readonly doubt: boolean
  readonly fp: string
  readonly owner: string
  readonly rest: string
  readonly lease_until: Date | number
  readonly keep_until: Date | number
}

/** Records in a schema of their own, removed in the end. */
export async function pgLeaseHarness(
  options: Partial<PostgresLeaseOptions> = {},
  sequences?: SequenceOptions,
  openPlace: () => Promise<PgPlace> = newPlace,
): Promise<PgLeaseHarness> {
  const place = await openPlace()
  const { schema, pool } = place
  const newLease = async (own: Partial<PostgresLeaseOptions> = {}): Promise<Store> => {
    const all = { pool: own.pool ?? place.newPool(), schema, ...options, ...own }
    const lease = sequences === undefined ? postgresLease(all) : postgresSequences({ ...all, ...sequences })
    await lease.open()
    return lease
  }
  return {
    place,
    newLease,
    store: await newLease(),
    secondStore: () => newLease(),
    forget: async (key) => void (await pool.query(`delete from ${schema}.lease where key = $1`, [bytesOf(key)])),
    spoil: async (key) => {
      await place.alter(`alter table ${schema}.lease drop constraint if exists lease_state_check`)
      await pool.query(`update ${schema}.lease set state = 'Z' where key = $1`, [bytesOf(key)])
    },
    age: async (ms) => {
      const aged = ['lease_until', 'keep_until', 'not_before', 'since'].map(
        (at) => `${at} = ${at} - $1 * interval '1 ms'`,
      )
      await pool.query(`update ${schema}.lease set ${aged.join(', ')}`, [ms])
    },
    look: async (key) => {
      const { rows } = await pool.query(`select *, encode(fp, 'base64') as fp from ${schema}.lease where key = $1`, [
        bytesOf(key),
      ])
      return rows[0] as LeaseRow | undefined
    },
    close: place.close,
  }
}

function bytesOf(key: string): Buffer {
  const bytes = Buffer.from(key, 'base64url')
  return key.length === 22 ? bytes.subarray(0, 16) : bytes
}

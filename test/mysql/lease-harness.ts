import { mysqlLease, type MysqlLeaseOptions } from '../../adapters/mysql2/index.ts'
import type { Store } from '../../src/index.ts'
import type { LeaseHarness } from '../../testing/contract/store/harness.ts'
import { newMysqlPlace, type MysqlPlace } from './support.ts'

export interface MysqlLeaseHarness extends LeaseHarness {
  readonly store: Store
  readonly place: MysqlPlace
  /** Opened, on a pool of its own unless one is given. */
  readonly newLease: (options?: Partial<MysqlLeaseOptions>) => Promise<Store>
  /** Makes every record older by so much. */
  readonly age: (ms: number) => Promise<void>
}

/** Records in a database of their own, removed in the end. */
export async function mysqlLeaseHarness(
  openPlace: () => Promise<MysqlPlace> = newMysqlPlace,
): Promise<MysqlLeaseHarness> {
  const place = await openPlace()
  const newLease = async (options: Partial<MysqlLeaseOptions> = {}): Promise<Store> => {
    const lease = mysqlLease({ pool: options.pool ?? place.newPool(), ...options })
    await lease.open()
    return lease
  }
  return {
    place,
    newLease,
    store: await newLease(),
    secondStore: () => newLease(),
    forget: async (key) => {
      const hex = Buffer.from(key, 'base64url').toString('hex', 0, 16)
      await place.pool.query(`delete from consume_once_lease where \`key\` = x'${hex}'`)
    },
    spoil: async (key) => {
      const hex = Buffer.from(key, 'base64url').toString('hex', 0, 16)
      await place.pool.query(`update consume_once_lease set state = 'Z' where \`key\` = x'${hex}'`)
    },
    age: async (ms) => {
      const back = (column: string): string => `${column} = date_sub(${column}, interval ${ms * 1_000} microsecond)`
      const columns = ['lease_until', 'keep_until', 'not_before', 'since']
      await place.pool.query(`update consume_once_lease set ${columns.map(back).join(', ')}`)
    },
    close: place.close,
  }
}

import { untilResolved } from '../../test/kit/eventually.ts'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import type { Store } from '../../src/index.ts'
import { abandon, claim, claimAll, hold, LONG_MS, newItem, newToken } from '../../testing/contract/store/claims.ts'
import { server } from '../../test/kit/servers/server.ts'
import { startFaultProxy, type FaultProxy } from '../../test/kit/fault-proxy.ts'
import { mysqlLeaseHarness, type MysqlLeaseHarness } from '../../test/mysql/lease-harness.ts'
import { ALONE, codeOf, describeMariadb, NO_REFUND } from '../../test/mysql/support.ts'

describeMariadb('mysqlLease whose answers are lost', () => {
  let harness: MysqlLeaseHarness
  let proxy: FaultProxy
  let lease: Store
  beforeEach(async () => {
    harness = await mysqlLeaseHarness()
    const url = new URL((await server('mariadb')).url)
    proxy = await startFaultProxy(Number(url.port || 3306))
    url.hostname = '127.0.0.1'
    url.port = String(proxy.port)
    const pool = harness.place.newPool({ uri: url.href })
    lease = await harness.newLease({ pool, queryTimeoutMs: 1_500 })
    await hold(lease, newItem()) // Connected, and the scope known.
  })
  afterEach(async () => {
    await proxy.stop()
    await harness.close()
  })

  /** Loses the reply to each message of a call in turn, that to the COMMIT last, and asks again until all are answered. */
  async function despiteLoss<T>(call: () => Promise<T>): Promise<T> {
    const before = proxy.faults
    for (let answered = 0; ; answered++) {
      await untilResolved(() => claim(lease, newItem())) // The connection of the call is there.
      proxy.breakNext('cut after', answered)
      const [ended] = await Promise.allSettled([call()])
      expect(ended.status === 'fulfilled' ? 'answered' : await codeOf(Promise.reject(ended.reason))).toMatch(
        /^STORE_|^answered$/,
      )
      if (proxy.faults > before + answered) continue
      proxy.breakNext('cut after', Number.POSITIVE_INFINITY)
      return await call()
    }
  }

  it('claims once, however often it is asked', async () => {
    const item = newItem()
    const token = newToken()
    const granted = await despiteLoss(() => hold(lease, item, { token }))
    expect(granted).toMatchObject({ verdict: 'claimed', fence: 1, attempt: 1 })
  })

  it('takes over once, and says so again', async () => {
    const item = newItem()
    await abandon({ ...harness, store: lease }, item)
    const token = newToken()
    const granted = await despiteLoss(() => hold(lease, item, { ...ALONE, token }))
    expect(granted).toMatchObject({ verdict: 'taken-over', fence: 2, attempt: 2 })
  })

  it('renews, marks, releases and sets aside once', async () => {
    const [renewed, marked, released, parked] = [newItem(), newItem(), newItem(), newItem()]
    const { claim: first } = await hold(lease, renewed)
    expect(await despiteLoss(() => lease.renew([first], LONG_MS))).toEqual(['renewed'])
    const { claim: second } = await hold(lease, marked)
    expect(await despiteLoss(() => lease.mark([second]))).toEqual(['already-marked'])
    const { claim: third } = await hold(lease, released)
    expect(await despiteLoss(() => lease.release([third], { refund: true, doubt: false }))).toEqual([
      'already-released',
    ])
    expect(await hold(lease, released)).toMatchObject({ verdict: 'claimed', fence: 2, attempt: 1 })
    const { claim: fourth } = await hold(lease, parked)
    expect(await despiteLoss(() => lease.setAside([fourth], 'parked', { reason: 'why' }))).toEqual(['parked'])
    expect(await claim(harness.store, parked)).toMatchObject({ verdict: 'parked', reason: 'why' })
  }, 120_000) // A call is up to 13 messages on MySQL, each of which is lost once.

  it('says that a mark is unknown while its connection is frozen, and marks once it thaws', async () => {
    const item = newItem()
    const { claim: claimed } = await hold(lease, item)
    proxy.freeze()
    expect(await codeOf(lease.mark([claimed]))).toMatch(/^STORE_/)
    proxy.thaw()
    expect(await untilResolved(() => lease.mark([claimed]))).toEqual([expect.stringMatching(/marked$/)])
    expect(await claim(harness.store, item)).toMatchObject({ verdict: 'done' })
  })

  it('grants each key of batches in opposite order to one of four processes', async () => {
    const stores = await Promise.all([1, 2, 3, 4].map(() => harness.newLease({ lockTimeoutMs: 5_000 })))
    for (let round = 0; round < 5; round++) {
      const items = Array.from({ length: 60 }, () => newItem())
      const orders = [items, items.toReversed(), items.slice(20), items.slice(0, 40).toReversed()]
      const granted = await Promise.all(
        stores.map(async (store, at) => {
          const order = orders[at] ?? []
          const answers = await claimAll(store, order)
          return order.filter((_, index) => answers[index]?.verdict === 'claimed').map(({ key }) => key)
        }),
      )
      expect(granted.flat().toSorted()).toEqual(items.map(({ key }) => key).toSorted())
    }
  })

  it('gives a connection back without a transaction, whatever was answered', async () => {
    const pool = harness.place.newPool({ connectionLimit: 2 })
    const own = await harness.newLease({ pool })
    const item = newItem()
    const { claim: claimed } = await hold(own, item)
    await claim(own, item)
    await own.mark([claimed])
    await own.release([claimed], NO_REFUND)
    for (const connection of [await pool.getConnection(), await pool.getConnection()]) {
      const [rows] = await connection.query('select @@innodb_lock_wait_timeout as waits')
      expect(rows).toEqual([{ waits: 50 }])
      await connection.query('set transaction isolation level repeatable read') // Fails in a transaction.
      connection.release()
    }
  })
})

import { expect, it } from '@jest/globals'
import { mysqlLease, type MysqlLeaseOptions } from '../../adapters/mysql2/index.ts'
import type { Store } from '../../src/index.ts'
import { claim, hold, newItem } from '../../testing/contract/store/claims.ts'
import { untilResolved } from '../../test/kit/eventually.ts'
import { beforeAllOpen, openedForEach } from '../../test/kit/opened.ts'
import { itSurvivesItsServer } from '../stores/server-in-trouble.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { startPrivateMariadb } from '../../test/kit/servers/private-mariadb.ts'
import { mysqlLeaseHarness } from '../../test/mysql/lease-harness.ts'
import { ALONE, codeOf, describeMariadb, newMysqlPlace, NO_REFUND, type MysqlPlace } from '../../test/mysql/support.ts'

const IMPATIENT = { lockTimeoutMs: 1_000, queryTimeoutMs: 1_500 }

describeMariadb('a MariaDB that fails', () => {
  let server: Awaited<ReturnType<typeof startPrivateMariadb>>
  let place: MysqlPlace
  beforeAllOpen(async (own) => (server = own(await startPrivateMariadb())))
  openedForEach(
    () => newMysqlPlace(server.url),
    (made) => (place = made),
  )

  async function newLease(options: Partial<MysqlLeaseOptions> = {}): Promise<Store> {
    const lease = mysqlLease({ pool: place.newPool(), ...options })
    await lease.open()
    return lease
  }

  // The attempt is given back, unless that meets a connection that the crash has left dead.
  itSurvivesItsServer(
    () => ({ server, newInbox: place.newInbox, newLease, write: place.write, committed: place.committed }),
    { impatient: IMPATIENT, leaseMs: 600, attempts: [1, 2], frozenMark: /^(already-marked|refused-busy)$/ },
  )

  it('keeps what a lease has answered over a crash: marks, doubt and leases', async () => {
    const lease = await newLease()
    const [marked, parked, held, left] = [newItem(), newItem(), newItem(), newItem()]
    await lease.mark([(await hold(lease, marked)).claim], ['v1'])
    await lease.setAside([(await hold(lease, parked)).claim], 'parked', { reason: 'wait' })
    const { claim: ofHeld } = await hold(lease, held)
    await hold(lease, left, { leaseMs: 1 })
    await server.kill()
    await server.restart()
    expect(await untilResolved(() => claim(lease, marked))).toMatchObject({ verdict: 'done', result: 'v1' })
    expect(await claim(lease, parked)).toMatchObject({ verdict: 'parked', reason: 'wait' })
    expect(await claim(lease, left)).toEqual({ verdict: 'in-doubt' })
    expect(await claim(lease, held, ALONE)).toMatchObject({ verdict: 'busy' })
    expect(await lease.mark([ofHeld])).toEqual(['marked'])
  }, 60_000)
})

describeMariadb('mysqlInbox beside others', () => {
  let place: MysqlPlace
  openedForEach(newMysqlPlace, (made) => (place = made))

  it('claims on a single connection, and holds nothing when others have taken that too', async () => {
    const pool = place.newPool({ connectionLimit: 2 })
    const inbox = await place.newInbox({ pool, ...IMPATIENT })
    const item = newItem()
    await inbox.mark([(await hold(inbox, newItem())).claim])
    const taken = await pool.getConnection()
    await inbox.mark([(await hold(inbox, newItem())).claim])
    const last = await pool.getConnection()
    expect(await codeOf(claim(inbox, item))).toMatch(/^STORE_/)
    const rival = await place.newInbox()
    const granted = await untilResolved(() => hold(rival, item))
    expect(granted.attempt).toBe(1)
    await rival.mark([granted.claim])
    taken.release()
    last.release()
    expect(await untilResolved(() => claim(inbox, item))).toMatchObject({ verdict: 'done' })
  })

  it('finds the mark of an earlier day', async () => {
    const inbox = await place.newInbox()
    const item = newItem()
    await inbox.mark([(await hold(inbox, item)).claim])
    await place.pool.query('update consume_once_inbox set done_at = date_sub(done_at, interval 1 day)')
    expect(await claim(inbox, item)).toMatchObject({ verdict: 'done' })
  })

  it('works in a database whose name is as long as MariaDB has them', async () => {
    const database = uniqueName('mysql').padEnd(64, 'x')
    await place.pool.query(`create database ${database}`)
    try {
      const inbox = await place.newInbox({ database })
      const item = newItem()
      expect(await inbox.mark([(await hold(inbox, item)).claim])).toEqual(['marked'])
      expect(await claim(inbox, item)).toMatchObject({ verdict: 'done' })
    } finally {
      await place.pool.query(`drop database ${database}`)
    }
  })
})

describeMariadb('mysqlLease beside others', () => {
  it('waits for a row no longer than lockTimeoutMs: a claim is busy, anything else is asked again', async () => {
    const { store, place, newLease, close } = await mysqlLeaseHarness()
    const impatient = await newLease(IMPATIENT)
    const { claim: released } = await hold(store, newItem())
    await store.release([released], NO_REFUND)
    const { claim: claimed } = await hold(store, newItem())
    const other = await place.newPool().getConnection()
    await other.query('begin')
    await other.query('select * from consume_once_lease for update')
    expect(await claim(impatient, released, ALONE)).toMatchObject({ verdict: 'busy' })
    expect(await codeOf(impatient.mark([claimed]))).toBe('STORE_UNREACHABLE')
    await other.query('rollback')
    other.release()
    expect(await impatient.mark([claimed])).toEqual(['marked'])
    expect(await claim(impatient, released, ALONE)).toMatchObject({ verdict: 'claimed', attempt: 2 })
    await close()
  })
})

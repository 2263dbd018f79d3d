import { eventually } from '../kit/eventually.ts'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { claim, hold, newItem } from '../../testing/contract/store/claims.ts'
import type { PgTransaction } from '../../adapters/pg/index.ts'
import type { Store } from '../../src/index.ts'
import type { TransactionClaim } from '../../src/internal.ts'
import { startFaultProxy, type FaultProxy } from '../kit/fault-proxy.ts'
import { server } from '../kit/servers/server.ts'
import { ALONE, NO_REFUND, codeOf, describePostgres, lend, newPlace, pidOf, type PgPlace } from './support.ts'

describePostgres('postgresInbox on a connection that is lost', () => {
  let place: PgPlace
  let proxy: FaultProxy
  let inbox: Store<PgTransaction>

  beforeEach(async () => {
    place = await newPlace()
    const url = new URL((await server('postgres')).url)
    proxy = await startFaultProxy(Number(url.port || 5432))
    url.hostname = '127.0.0.1'
    url.port = String(proxy.port)
    const pool = place.newPool({ connectionString: url.href })
    inbox = await place.newInbox({ pool, lockTimeoutMs: 100, queryTimeoutMs: 1_000 })
  })
  afterEach(async () => {
    await proxy.stop()
    await place.close()
  })

  async function terminate(claimed: TransactionClaim<PgTransaction>): Promise<void> {
    await place.terminate(await pidOf(lend(claimed).tx))
  }

  it('lives on when its backend is terminated, says that nothing was committed, and gives the attempt back', async () => {
    const item = newItem()
    const { claim: claimed } = await hold(inbox, item)
    await place.write(lend(claimed).tx, item.key)
    await terminate(claimed)
    expect(await codeOf(inbox.mark([claimed]))).toMatch(/^STORE_/)
    expect(await inbox.renew([claimed], 1)).toEqual(['lost'])
    expect(await inbox.mark([claimed])).toEqual(['refused-busy'])
    expect(await place.committed(item.key)).toBe(0)
    const again = await hold(inbox, item)
    expect(again.attempt).toBe(1)
    await inbox.mark([again.claim])
  })

  it('gives the attempt back of a handler that failed because the server went down', async () => {
    const item = newItem()
    const { claim: claimed } = await hold(inbox, item)
    const { tx } = lend(claimed)
    await terminate(claimed)
    await expect(place.write(tx, 'never')).rejects.toThrow(/terminat|not queryable/)
    expect(await inbox.release([claimed], NO_REFUND)).toEqual(['released'])
    const again = await hold(inbox, item)
    expect(again.attempt).toBe(1)
    await inbox.mark([again.claim])
  })

  it('answers already-marked once it is clear that a COMMIT whose reply was lost has happened', async () => {
    const commits = await place.holdCommits()
    const item = newItem()
    const { claim: claimed } = await hold(inbox, item)
    await place.write(lend(claimed).tx, item.key)
    const mark = codeOf(inbox.mark([claimed]))
    await commits.waiting()
    proxy.cut()
    expect(await mark).toBe('STORE_AMBIGUOUS')
    // Its backend is still at it: that the row is not seen proves nothing.
    expect(await codeOf(inbox.mark([claimed]))).toBe('STORE_AMBIGUOUS')
    expect(await inbox.release([claimed], NO_REFUND)).toEqual(['refused'])
    await commits.letGo()
    await eventually(async () => (await place.committed(item.key)) === 1)
    expect(await inbox.mark([claimed])).toEqual(['already-marked'])
    expect(await inbox.mark([claimed])).toEqual(['already-marked'])
    expect(await place.committed(item.key)).toBe(1)
    expect(await claim(inbox, item)).toMatchObject({ verdict: 'done' })
  })

  it('answers refused-busy once it is clear that a COMMIT whose reply was lost has not happened', async () => {
    const commits = await place.holdCommits()
    const item = newItem()
    const { claim: claimed } = await hold(inbox, item)
    const { tx } = lend(claimed)
    const pid = await pidOf(tx)
    await place.write(tx, item.key)
    const mark = codeOf(inbox.mark([claimed]))
    await commits.waiting()
    proxy.cut()
    await place.terminate(pid)
    expect(await mark).toBe('STORE_AMBIGUOUS')
    expect(await inbox.mark([claimed])).toEqual(['refused-busy'])
    const again = await hold(inbox, item)
    expect(again.attempt).toBe(1)
    await inbox.release([again.claim], NO_REFUND)
  })

  it('answers refused-done when another owner has marked the key since', async () => {
    const commits = await place.holdCommits()
    const item = newItem()
    const { claim: claimed } = await hold(inbox, item)
    const { tx } = lend(claimed)
    const pid = await pidOf(tx)
    await place.write(tx, item.key)
    const mark = codeOf(inbox.mark([claimed]))
    await commits.waiting()
    proxy.cut()
    await place.terminate(pid)
    await mark
    await commits.letGo()
    const rival = await place.newInbox()
    await rival.mark([(await hold(rival, item, ALONE)).claim])
    expect(await inbox.mark([claimed])).toEqual(['refused-done'])
  })

  it('sets a claim aside whose connection is gone', async () => {
    const item = newItem()
    const { claim: claimed } = await hold(inbox, item)
    proxy.cut()
    expect(await inbox.setAside([claimed], 'parked', { reason: 'why' })).toEqual(['parked'])
    expect(await claim(inbox, item)).toMatchObject({ verdict: 'parked', reason: 'why' })
  })

  it('rejects with STORE_UNREACHABLE while there is no connection, and works again after', async () => {
    const item = newItem()
    await inbox.mark([(await hold(inbox, newItem())).claim])
    proxy.refuse()
    proxy.cut()
    expect(await codeOf(claim(inbox, item))).toMatch(/^STORE_/)
    expect(await codeOf(claim(inbox, item))).toBe('STORE_UNREACHABLE')
    proxy.accept()
    const granted = await hold(inbox, item)
    expect(granted.attempt).toBe(1)
    expect(await inbox.mark([granted.claim])).toEqual(['marked'])
  })

  it('frees the row of a handler that does nothing for longer than idleInTransactionTimeoutMs', async () => {
    const item = newItem()
    const idle = await place.newInbox({ idleInTransactionTimeoutMs: 100 })
    const { claim: claimed } = await hold(idle, item)
    const second = await place.newInbox({ lockTimeoutMs: 5_000 })
    const rival = await hold(second, item, ALONE)
    expect(rival.attempt).toBe(2)
    await second.release([rival.claim], NO_REFUND)
    expect(await codeOf(idle.mark([claimed]))).toBe('COMMIT_REFUSED')
    expect(await idle.mark([claimed])).toEqual(['refused-busy'])
  })
})

import { expect, it } from '@jest/globals'
import { beforeEachOpen } from '../../test/kit/opened.ts'
import type { MysqlTransaction } from '../../adapters/mysql2/index.ts'
import type { Store } from '../../src/index.ts'
import { claim, hold, newItem } from '../../testing/contract/store/claims.ts'
import { holdNew } from '../../testing/contract/store/given.ts'
import { server } from '../../test/kit/servers/server.ts'
import { startProxyOf, type ProxyOf } from '../../test/kit/fault-proxy.ts'
import {
  ALONE,
  codeOf,
  describeMariadb,
  lend,
  newMysqlPlace,
  NO_REFUND,
  threadOf,
  type MysqlPlace,
} from '../../test/mysql/support.ts'

describeMariadb('mysqlInbox on a connection that is lost', () => {
  let place: MysqlPlace
  let proxy: ProxyOf
  /** Through the proxy; the rival is not. */
  let inbox: Store<MysqlTransaction>
  let rival: Store<MysqlTransaction>

  beforeEachOpen(async (own) => {
    place = own(await newMysqlPlace())
    proxy = own(await startProxyOf((await server('mariadb')).url, 3306))
    const pool = place.newPool({ uri: proxy.url })
    inbox = await place.newInbox({ pool, lockTimeoutMs: 1_000, queryTimeoutMs: 1_500 })
    rival = await place.newInbox()
    // The scope is known from here on: a claim is the claim, the count of attempts, and nothing else.
    await inbox.release([(await hold(inbox, newItem())).claim], NO_REFUND)
  })

  it('answers already-marked to a mark whose COMMIT has happened and whose reply was lost', async () => {
    const { item, claim: claimed } = await holdNew(inbox)
    await place.write(lend(claimed).tx, item.key)
    proxy.breakNext('cut after', place.messagesOfMark - 1)
    expect(await codeOf(inbox.mark([claimed]))).toBe('STORE_AMBIGUOUS')
    expect(await inbox.release([claimed], NO_REFUND)).toEqual(['refused'])
    expect(await inbox.mark([claimed])).toEqual(['already-marked'])
    expect(await inbox.mark([claimed])).toEqual(['already-marked'])
    expect(await place.committed(item.key)).toBe(1)
    expect(await claim(rival, item)).toMatchObject({ verdict: 'done' })
  })

  it('stays unknown while a COMMIT may still arrive, and answers already-marked once it has', async () => {
    const { item, claim: claimed } = await holdNew(inbox)
    await place.write(lend(claimed).tx, item.key)
    proxy.freeze(place.messagesOfMark)
    expect(await codeOf(inbox.mark([claimed]))).toBe('STORE_AMBIGUOUS')
    // The transaction is open on the server and its row invisible: that proves nothing.
    expect(await claim(rival, item, ALONE)).toEqual({ verdict: 'busy', leaseLeftMs: 1_000 })
    expect(await codeOf(inbox.mark([claimed]))).toMatch(/^STORE_/)
    proxy.thaw()
    expect(await settled(() => inbox.mark([claimed]))).toEqual(['already-marked'])
    expect(await place.committed(item.key)).toBe(1)
    expect(await claim(rival, item)).toMatchObject({ verdict: 'done' })
  })

  it('answers refused-busy once it is clear that a COMMIT was never run, and gives the attempt back', async () => {
    const { item, claim: claimed } = await holdNew(inbox)
    const { tx } = lend(claimed)
    const thread = await threadOf(tx)
    await place.write(tx, item.key)
    proxy.freeze()
    expect(await codeOf(inbox.mark([claimed]))).toBe('STORE_AMBIGUOUS')
    await place.pool.query(`kill ${thread}`)
    proxy.thaw()
    expect(await settled(() => inbox.mark([claimed]))).toEqual(['refused-busy'])
    expect(await place.committed(item.key)).toBe(0)
    const again = await hold(rival, item)
    expect(again.attempt).toBe(1)
    await rival.release([again.claim], NO_REFUND)
  })

  it('answers refused-done when another owner has marked the key since', async () => {
    const { item, claim: claimed } = await holdNew(inbox)
    const thread = await threadOf(lend(claimed).tx)
    proxy.freeze()
    expect(await codeOf(inbox.mark([claimed]))).toBe('STORE_AMBIGUOUS')
    await place.pool.query(`kill ${thread}`)
    proxy.thaw()
    const next = await settled(async () => [(await claim(rival, item, ALONE)) as { claim?: never }])
    expect(await rival.mark(next.flatMap(({ claim: granted }) => granted ?? []))).toEqual(['marked'])
    expect(await settled(() => inbox.mark([claimed]))).toEqual(['refused-done'])
  })

  it('lives on when its connection is killed, says that nothing was committed, and gives the attempt back', async () => {
    const { item, claim: claimed } = await holdNew(inbox)
    const { tx } = lend(claimed)
    await place.write(tx, item.key)
    await place.pool.query(`kill ${await threadOf(tx)}`)
    expect(await codeOf(inbox.mark([claimed]))).toMatch(/^STORE_/)
    expect(await inbox.renew([claimed], 1)).toEqual(['lost'])
    expect(await settled(() => inbox.mark([claimed]))).toEqual(['refused-busy'])
    expect(await place.committed(item.key)).toBe(0)
    const again = await hold(rival, item)
    expect(again.attempt).toBe(1)
    await rival.release([again.claim], NO_REFUND)
  })

  it('sets a claim aside whose connection is gone', async () => {
    const { claim: claimed } = await holdNew(inbox)
    proxy.cut()
    const verdicts = await settled(async () => {
      const [verdict] = await inbox.setAside([claimed], 'parked', { reason: 'why' })
      if (verdict === 'refused') throw new Error('the server has not noticed yet')
      return [verdict]
    })
    expect(verdicts).toEqual(['parked'])
  })

  it('frees the row of a handler that does nothing for longer than idleInTransactionTimeoutMs', async () => {
    const idle = await place.newInbox({ idleInTransactionTimeoutMs: 1_000 })
    const { item, claim: claimed } = await holdNew(idle)
    const next = await settled(async () => {
      const answer = await claim(rival, item, ALONE)
      if (answer.verdict === 'busy') throw new Error('the row is held')
      return [answer]
    })
    expect(next).toMatchObject([{ verdict: 'claimed', attempt: 2 }])
    await rival.release(
      next.flatMap((answer) => ('claim' in answer ? [answer.claim] : [])),
      NO_REFUND,
    )
    expect(await codeOf(idle.mark([claimed]))).toBe('COMMIT_REFUSED')
    expect(await settled(() => idle.mark([claimed]))).toEqual(['refused-busy'])
  })

  it('gives a connection back as it came, and what it found in it', async () => {
    const pool = place.newPool({ connectionLimit: 2 })
    const own = await place.newInbox({ pool, lockTimeoutMs: 2_000 })
    const { claim: kept } = await hold(own, newItem())
    const inside = await lend(kept).tx.query<object[]>(SETTINGS)
    expect(inside[0]).toMatchObject([{ waits: 50, idle: 300 }])
    await own.mark([kept])
    const { claim: dropped } = await hold(own, newItem())
    await own.release([dropped], NO_REFUND)
    const connections = [await pool.getConnection(), await pool.getConnection()]
    for (const connection of connections) {
      const [rows] = await connection.query(SETTINGS)
      expect(rows).toMatchObject([{ waits: 50, idle: 28_800 }])
      await connection.query(NO_TRANSACTION)
      connection.release()
    }
  })
})

const SETTINGS = 'select @@innodb_lock_wait_timeout as waits, @@wait_timeout as idle'

/** Fails in a transaction. */
const NO_TRANSACTION = 'set transaction isolation level repeatable read'

/** Asks until there is an answer, as the pipeline does: a server notices a lost connection in its own time. */
async function settled<T>(ask: () => Promise<readonly T[]>): Promise<readonly T[]> {
  const deadline = Date.now() + 15_000
  for (;;) {
    try {
      const answers = await ask()
      const isBusy = answers.some((one) => typeof one === 'object' && one !== null && 'leaseLeftMs' in one)
      if (!isBusy || Date.now() > deadline) return answers
    } catch (error) {
      if (Date.now() > deadline) throw error
    }
  }
}

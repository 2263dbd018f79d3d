import { expect, it } from '@jest/globals'
import { beforeEachOpen } from '../../test/kit/opened.ts'
import type { MysqlTransaction } from '../../adapters/mysql2/index.ts'
import type { Store } from '../../src/index.ts'
import type { ClaimItem } from '../../src/internal.ts'
import { claim, claimAll, hold, newItem } from '../../testing/contract/store/claims.ts'
import { holdNew } from '../../testing/contract/store/given.ts'
import { startPrivateMariadb } from '../../test/kit/servers/private-mariadb.ts'
import { startProxyOf, type ProxyOf } from '../../test/kit/fault-proxy.ts'
import { codeOf, describeMariadb, lend, newMysqlPlace, NO_REFUND, type MysqlPlace } from '../../test/mysql/support.ts'

/** InnoDB shows committed rows before they are flushed: here they stay unflushed until another COMMIT flushes. */
describeMariadb('mysqlInbox, of what is committed and not flushed yet', () => {
  let mariadb: Awaited<ReturnType<typeof startPrivateMariadb>>
  let proxy: ProxyOf
  let place: MysqlPlace
  /** Through the proxy; the rival is not. */
  let inbox: Store<MysqlTransaction>
  let rival: Store<MysqlTransaction>

  beforeEachOpen(async (own) => {
    const settings = {
      'innodb-flush-log-at-trx-commit': '1',
      'innodb-flush-log-at-timeout': '2700',
      // Ten seconds after changes it commits statistics, and flushes with them.
      'innodb-stats-auto-recalc': '0',
      // MySQL has a binary log unless told otherwise, and recovers from it what InnoDB has lost.
      'skip-log-bin': '1',
    }
    mariadb = own(await startPrivateMariadb({ settings }))
    proxy = own(await startProxyOf(mariadb.url, 3306))
    place = own(await newMysqlPlace(mariadb.url))
    inbox = await place.newInbox({ pool: place.newPool({ uri: proxy.url }), queryTimeoutMs: 1_500 })
    rival = await place.newInbox()
    for (const store of [inbox, rival]) await store.release([(await hold(store, newItem())).claim], NO_REFUND)
  })

  it('is flushed before it is told as done', async () => {
    const item = newItem()
    expect(await withoutFlush(() => markOf(item))).toEqual(['marked'])
    expect(await claim(rival, item)).toMatchObject({ verdict: 'done' })
    expect(await afterCrash(item)).toMatchObject({ effects: 1, claimed: { verdict: 'done' } })
  })

  it('is flushed before a batch of duplicates is told of it', async () => {
    const [item, other] = [newItem(), newItem()]
    expect(await withoutFlush(async () => [await markOf(item), await markOf(other)])).toEqual([['marked'], ['marked']])
    expect(await claimAll(rival, [item, other])).toMatchObject([{ verdict: 'done' }, { verdict: 'done' }])
    expect(await afterCrash(other)).toMatchObject({ effects: 1, claimed: { verdict: 'done' } })
  })

  it('is flushed before a mark whose reply was lost is told as written', async () => {
    const { item, claim: claimed } = await holdNew(inbox)
    await place.write(lend(claimed).tx, item.key)
    proxy.breakNext('cut after', place.messagesOfMark - 1) // the COMMIT
    expect(await withoutFlush(() => codeOf(inbox.mark([claimed])))).toBe('STORE_AMBIGUOUS')
    expect(await place.committed(item.key)).toBe(1)
    expect(await inbox.mark([claimed])).toEqual(['already-marked'])
    expect(await afterCrash(item)).toMatchObject({ effects: 1, claimed: { verdict: 'done' } })
  })

  async function markOf(item: ClaimItem): Promise<unknown> {
    const { claim: claimed } = await hold(inbox, item)
    await place.write(lend(claimed).tx, item.key)
    return inbox.mark([claimed])
  }

  async function withoutFlush<T>(work: () => Promise<T>): Promise<T> {
    await place.rows('set global innodb_flush_log_at_trx_commit = 0')
    const result = await work()
    await place.rows('set global innodb_flush_log_at_trx_commit = 1')
    return result
  }

  async function afterCrash(item: ClaimItem): Promise<unknown> {
    await mariadb.kill()
    await mariadb.restart()
    const after = await newMysqlPlace(mariadb.url)
    try {
      const [row] = await after.rows(`select count(*) as n from ${place.database}.effect where name = '${item.key}'`)
      const store = await after.newInbox({ database: place.database })
      return { effects: Number(row?.['n']), claimed: await claim(store, item) }
    } finally {
      await after.close()
    }
  }
})

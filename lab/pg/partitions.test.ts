import { openedForEach } from '../../test/kit/opened.ts'
import { describe, expect, it } from '@jest/globals'
import { postgresMigrationSql, postgresMigrations } from '../../adapters/pg/index.ts'
import { claim, claimAll, hold, newItem, SCOPE } from '../../testing/contract/store/claims.ts'
import { describeStoreContract } from '../../testing/contract/store/contract.ts'
import { describePostgres, newPlace, pgHarness, type PgPlace } from '../../test/pg/support.ts'

const PARTITIONS = { inboxPartitions: 3 }

describePostgres('postgresInbox on partitions', () => {
  describeStoreContract(
    'postgresInbox on partitions',
    {
      strategy: 'inbox',
      createHarness: () => pgHarness({ setup: 'check' }, PARTITIONS),
      lacks: {
        retention: 'a purge ends records',
      },
    },
    { describe, it },
  )
})

describePostgres('partitions of the inbox', () => {
  let place: PgPlace
  openedForEach(
    () => newPlace(undefined, PARTITIONS),
    (made) => (place = made),
  )

  it('spread keys, and keep each unique', async () => {
    const inbox = await place.newInbox()
    const items = Array.from({ length: 60 }, () => newItem())
    const claims = (await claimAll(inbox, items)).flatMap((answer) => ('claim' in answer ? [answer.claim] : []))
    await inbox.mark(claims)
    const { rows } = await place.pool.query(`select count(distinct tableoid)::int as tables from ${place.schema}.inbox`)
    expect(rows).toEqual([{ tables: 3 }])
    const answers = await claimAll(await place.newInbox(), items)
    expect(answers.filter(({ verdict }) => verdict === 'done')).toHaveLength(60)
  })

  it('are purged of what is old, and of nothing that lies at the same place of another', async () => {
    const inbox = await place.newInbox()
    const items = Array.from({ length: 30 }, () => newItem())
    for (const item of items) await inbox.mark([(await hold(inbox, item)).claim])
    const old = items.slice(0, 10).map(({ key }) => Buffer.from(key, 'base64url'))
    await place.pool.query(
      `update ${place.schema}.inbox set done_at = now() - interval '2 days', keep_until = now() where key = any ($1)`,
      [old],
    )
    const how = { retentionMs: 86_400_000, limit: 4 }
    let removed = 0
    for (let more = true; more;) {
      const purged = await inbox.admin?.purge(SCOPE, how)
      removed += purged?.removed ?? 0
      more = purged?.more ?? false
    }
    expect(removed).toBe(10)
    for (const item of items.slice(10)) expect(await claim(inbox, item)).toMatchObject({ verdict: 'done' })
  })

  it('are no drift', async () => {
    await place.pool.query(`drop table ${place.schema}.effect`)
    const migrations = postgresMigrations({ pool: place.newPool(), schema: place.schema })
    expect(await migrations.status()).toMatchObject({ pending: [], drift: [] })
    await place.pool.query(`drop table ${place.schema}.inbox_2`)
    const { drift } = await migrations.status()
    expect(drift).toContainEqual(expect.stringContaining('partition inbox_0: FOR VALUES WITH (modulus 3'))
  })
})

describe('options of partitions', () => {
  it.each([1, 257, 2.5, Number.NaN])('refuse %s', (inboxPartitions) => {
    expect(() => postgresMigrationSql({ inboxPartitions })).toThrow('inboxPartitions: expected')
  })
})

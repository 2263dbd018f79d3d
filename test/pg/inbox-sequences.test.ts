import { expect, it } from '@jest/globals'
import { postgresInboxSequences, type PgTransaction } from 'consume-once/pg'
import { createHash } from 'node:crypto'
import type { ClaimItem, InboxStore } from '../../src/ports/store.ts'
import { sequenceKey } from '../../src/identity/sequence-key.ts'
import { claim, claimAll, grantedBy, hold, newItem, newName, SCOPE } from '../../testing/contract/store/claims.ts'
import { describeSequences } from '../contract/sequence-laws.ts'
import { lentPlaces } from '../kit/lent-places.ts'
import { openedForEach } from '../kit/opened.ts'
import { describePostgres, inboxSequencesHarness, lend, newPlace, withQueryHook } from './support.ts'

type Harness = Awaited<ReturnType<typeof inboxSequencesHarness>>

describePostgres('postgresInboxSequences', () => {
  const places = lentPlaces(() => newPlace())
  describeSequences(
    'postgresInboxSequences',
    async (sequences) => {
      const harness = await inboxSequencesHarness(sequences, places)
      const { pool, schema } = harness.place
      return {
        ...harness,
        count: async () => Number((await pool.query(`select count(*) from ${schema}.inbox`)).rows[0]?.count),
        plantSource: async (source, text) => {
          const key = Buffer.from(source, 'base64url')
          await pool.query(`update ${schema}.inbox set result = $2 where key = $1`, [key, text])
        },
      }
    },
    'inbox',
  )

  let harness: Harness
  openedForEach(
    () => inboxSequencesHarness({ tail: 0, onBehind: 'duplicate' }, places),
    (made) => (harness = made),
  )
  const store = (): InboxStore<PgTransaction> => harness.store

  it('writes effect and mark in one transaction: a rollback leaves neither, and the number runs again', async () => {
    const [item] = numbers(newName(), 1, 1)
    const failing = await hold(store(), item)
    await harness.write(lend(failing.claim).tx, 'effect')
    await store().release([failing.claim], { refund: false, doubt: false })
    expect(await harness.committed('effect')).toBe(0)
    const again = grantedBy(await claim(store(), item, { alone: true }))
    await harness.write(lend(again.claim).tx, 'effect')
    expect(await store().mark([again.claim])).toEqual(['marked'])
    expect(await harness.committed('effect')).toBe(1)
    expect(await claim(store(), item)).toMatchObject({ verdict: 'done' })
  })

  it('answers a batch of new, done, parked and known numbers each as if it were alone, in one transaction', async () => {
    const parking = await inboxSequencesHarness({ tail: 1 }, places)
    const items = numbers(newName(), 1, 8)
    try {
      const inbox = parking.store
      await inbox.mark((await claimAll(inbox, items.slice(0, 5))).map((answer) => grantedBy(answer).claim))
      const { admin } = inbox
      const why = { by: 'a test', reason: 'because', retentionMs: 3_600_000 }
      await admin?.forget(SCOPE, [items[1]?.key ?? ''], why)
      const answers = await claimAll(inbox, items)
      expect(answers.map(({ verdict }) => verdict)).toEqual([
        'parked',
        'claimed',
        'parked',
        'parked',
        'done',
        'claimed',
        'claimed',
        'claimed',
      ])
      const claims = answers.flatMap((answer) => ('claim' in answer ? [answer.claim] : []))
      expect(new Set(claims.map(({ transaction }) => transaction)).size).toBe(1)
      expect(claims.map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1])
      expect(await inbox.mark(claims)).toEqual(['marked', 'marked', 'marked', 'marked'])
    } finally {
      await parking.close()
    }
  })

  it('has one effect of a number that two processes claim at once, whoever comes first, also where no tail is kept', async () => {
    const second = (await harness.secondStore()) as InboxStore<PgTransaction>
    const items = numbers(newName(), 1, 30)
    const run = async (inbox: InboxStore<PgTransaction>, item: ClaimItem): Promise<void> => {
      for (;;) {
        const answer = await claim(inbox, item, { alone: true })
        if (answer.verdict === 'done') return
        if (!('claim' in answer)) continue
        await harness.write(lend(answer.claim).tx, item.key)
        await inbox.mark([answer.claim])
      }
    }
    await Promise.all(items.flatMap((item) => [run(store(), item), run(second, item)]))
    const { rows } = await harness.place.pool.query(`select count(*)::int as n, count(distinct name)::int as names
      from ${harness.place.schema}.effect`)
    expect(rows).toEqual([{ n: 30, names: 30 }])
    expect((await harness.place.pool.query(`select from ${harness.place.schema}.inbox`)).rowCount).toBe(1)
  }, 60_000)

  it('asks a source on the connection of the claim, so that a pool of few connections is enough', async () => {
    const { schema } = harness.place
    const texts: string[] = []
    const pool = withQueryHook(harness.place.newPool({ max: 2 }), async (text) => void texts.push(text))
    const inbox = postgresInboxSequences({ pool, schema, tail: 0 })
    await inbox.open()
    const [item] = numbers(newName(), 1, 1)
    const { claim: claimed } = await hold(inbox, item)
    const read = texts.findIndex((text) => text.includes('i.result as rest'))
    const begun = texts.findIndex((text) => text.includes('savepoint consume_once'))
    expect(begun).toBeGreaterThanOrEqual(0)
    expect(read).toBe(begun + 1)
    expect(await inbox.mark([claimed])).toEqual(['marked'])
  })

  it('purges a source that has been idle for its retention, and its numbers run again', async () => {
    const { pool, schema } = harness.place
    const items = numbers(newName(), 1, 3)
    await store().mark((await claimAll(store(), items)).map((answer) => grantedBy(answer).claim))
    await pool.query(`update ${schema}.inbox set done_at = done_at - interval '2 hours', keep_until = now()`)
    await store().admin?.purge(SCOPE, { retentionMs: 3_600_000, limit: 100 })
    expect((await pool.query(`select from ${schema}.inbox`)).rowCount).toBe(0)
    const again = grantedBy(await claim(store(), items[0]))
    await store().release([again.claim], { refund: true, doubt: false })
  })

  it('takes a lost answer of a COMMIT for a mark, also when another process has removed the record meanwhile', async () => {
    const { schema } = harness.place
    let isLost = false
    const pool = withQueryHook(harness.place.newPool(), async () => {
      if (isLost) throw Object.assign(new Error('no answer'), { code: 'ECONNRESET' })
    })
    const inbox = postgresInboxSequences({ pool, schema, tail: 0, onBehind: 'duplicate' })
    await inbox.open()
    const [item] = numbers(newName(), 1, 1)
    const { claim: claimed } = await hold(inbox, item)
    // The same number is done by another hand: the COMMIT of this claim never came, and nobody can tell.
    isLost = true
    await expect(inbox.mark([claimed])).rejects.toMatchObject({ code: expect.stringMatching(/^STORE_/) })
    isLost = false
    const rival = grantedBy(await claim(store(), item, { alone: true }))
    expect(await store().mark([rival.claim])).toEqual(['marked'])
    expect(await inbox.mark([claimed])).toEqual(['already-marked'])
  })

  it('refuses a key without a number, and names all problems of its options', async () => {
    await expect(claim(store(), newItem())).rejects.toMatchObject({ code: 'STORE_MISUSED' })
    expect(() =>
      postgresInboxSequences({ pool: harness.place.newPool(), tail: -1, onBehind: 'drop' as never }),
    ).toThrow(/tail: expected a whole number.*onBehind: expected/s)
  })
})

type Items = readonly [ClaimItem, ...ClaimItem[]]

function numbers(source: string, from: number, to: number): Items {
  const hashed = createHash('sha256').update(source).digest('base64url')
  return Array.from({ length: to - from + 1 }, (_, at) => ({
    key: sequenceKey(hashed, BigInt(from + at)),
    digest: createHash('sha256').update(`${source} ${at}`).digest().subarray(0, 16).toString('base64url'),
  })) as unknown as Items
}

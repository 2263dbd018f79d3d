import { lentPlaces } from '../kit/lent-places.ts'
import { openedForEach } from '../kit/opened.ts'
import { describe, expect, it } from '@jest/globals'
import { claim, claimAll, grantedBy, hold, newItem, SCOPE } from '../../testing/contract/store/claims.ts'
import { describeStoreContract } from '../../testing/contract/store/contract.ts'
import {
  ALONE,
  NO_REFUND,
  REFUND,
  bytesOf,
  describePostgres,
  withQueryHook,
  lend,
  newPlace,
  pgHarness,
  type PgPlace,
} from './support.ts'

describePostgres('postgresInbox', () => {
  const places = lentPlaces(() => newPlace())
  describeStoreContract(
    'postgresInbox',
    {
      strategy: 'inbox',
      createHarness: () => pgHarness({}, undefined, places),
      lacks: { retention: 'a purge ends records' },
    },
    { describe, it },
  )
})

describePostgres('postgresInbox between two processes', () => {
  let place: PgPlace
  openedForEach(
    lentPlaces(() => newPlace()),
    (made) => (place = made),
  )

  it('answers busy to the whole batch when one row is held for longer than lockTimeoutMs, and holds nothing of it', async () => {
    const [first, second] = [await place.newInbox(), await place.newInbox({ lockTimeoutMs: 50 })]
    const [held, free] = [newItem(), newItem()]
    const { claim: claimed } = await hold(first, held)
    const answers = await claimAll(second, [free, held])
    expect(answers).toEqual([
      { verdict: 'busy', leaseLeftMs: 50 },
      { verdict: 'busy', leaseLeftMs: 50 },
    ])
    const granted = await hold(first, free)
    expect(granted.attempt).toBe(1)
    expect(await first.mark([claimed, granted.claim])).toEqual(['marked', 'marked'])
  })

  /** As a process leaves it that died between its count and its transaction, or is about to begin that. */
  const counted = async (items: readonly { readonly key: string }[], age: string): Promise<void> => {
    const keys = items.map(({ key }) => `'\\x${bytesOf(key)}'::bytea`).join(', ')
    await place.pool.query(`insert into ${place.schema}.claim (at, scope, token, keys, fps)
      select clock_timestamp() - interval '${age}', id, 'rival', array[${keys}], array[${items.map(() => 'null').join(', ')}]::bytea[]
      from ${place.schema}.scope where name = '${SCOPE}'`)
  }

  it('does not wait for a claim that has counted its keys and has not taken them: that one will wait', async () => {
    const inbox = await place.newInbox()
    await inbox.mark([(await hold(inbox, newItem())).claim])
    const items = [newItem(), newItem()]
    await counted(items, '5 seconds')
    const claims = (await claimAll(inbox, items)).map((answer) => grantedBy(answer))
    expect(claims.map(({ attempt }) => attempt)).toEqual([1, 1])
    expect(await inbox.mark(claims.map((granted) => granted.claim))).toEqual(['marked', 'marked'])
  })

  it('counts a claim that has not begun for longer than its message takes', async () => {
    const inbox = await place.newInbox()
    await inbox.mark([(await hold(inbox, newItem())).claim])
    const item = newItem()
    await counted([item], '20 seconds')
    const met = await claim(inbox, item)
    if ('claim' in met) await inbox.release([met.claim], REFUND)
    expect(met).toMatchObject({ verdict: 'again-alone', attempts: 1 })
    const again = await hold(inbox, item, ALONE)
    expect(await inbox.mark([again.claim])).toEqual(['marked'])
    expect(again.attempt).toBe(2)
    expect((await place.pool.query(`select keys from ${place.schema}.claim`)).rows).toEqual([])
  })

  it('tells what is done and what was tried apart from what it runs, beside claims of processes that died', async () => {
    const inbox = await place.newInbox()
    const [done, tried, fresh, other] = [newItem(), newItem(), newItem(), newItem()]
    await inbox.mark([(await hold(inbox, done)).claim])
    await counted([done, tried], '20 seconds')
    const answers = await claimAll(inbox, [fresh, done, tried, other])
    expect(answers).toMatchObject([
      { verdict: 'claimed', attempt: 1 },
      { verdict: 'done' },
      { verdict: 'again-alone', attempts: 1 },
      { verdict: 'claimed', attempt: 1 },
    ])
    // Only what runs counts if this process dies now.
    const { rows } = await place.pool.query(`select cardinality(keys) as keys from ${place.schema}.claim order by 1`)
    expect(rows).toEqual([{ keys: 2 }, { keys: 2 }])
    const [first, , , last] = answers
    expect(await inbox.mark([grantedBy(first).claim, grantedBy(last).claim])).toEqual(['marked', 'marked'])
    const again = await hold(inbox, tried, ALONE)
    expect(again.attempt).toBe(2)
    expect(await inbox.mark([again.claim])).toEqual(['marked'])
  })

  it('looks twice at what was tried longer ago, and no more', async () => {
    const items = [newItem(), newItem()]
    const looks: string[] = []
    const pool = withQueryHook(place.newPool(), async (text) => {
      if (text.startsWith('begin') && text.includes('"inbox"')) looks.push(text)
    })
    const inbox = await place.newInbox({ pool })
    const claims = (await claimAll(inbox, items)).map((answer) => grantedBy(answer).claim)
    await inbox.release(claims, NO_REFUND)
    await place.pool.query(`update ${place.schema}.claim set at = at - interval '2 seconds', phase = 'e'`)
    looks.length = 0
    expect(await claimAll(inbox, items)).toMatchObject([{ verdict: 'again-alone' }, { verdict: 'again-alone' }])
    expect(looks).toHaveLength(2)
  })

  it('keeps to each key of a batch its own digest, or none, also where some are done', async () => {
    const inbox = await place.newInbox()
    const [done, ...fresh] = [newItem(), newItem(), newItem({ digest: '' }), newItem()] as const
    await inbox.mark([(await hold(inbox, done)).claim])
    const [first, ...answers] = await claimAll(inbox, [done, ...fresh])
    expect(first).toMatchObject({ verdict: 'done' })
    expect(await inbox.mark(answers.map((answer) => grantedBy(answer).claim))).toEqual(['marked', 'marked', 'marked'])
    const others = fresh.map(({ key }) => ({ ...newItem(), key }))
    expect(await claimAll(inbox, others)).toMatchObject([
      { verdict: 'conflict' },
      { verdict: 'done' },
      { verdict: 'conflict' },
    ])
    expect(await claimAll(inbox, fresh)).toMatchObject([{ verdict: 'done' }, { verdict: 'done' }, { verdict: 'done' }])
  })

  it('answers busy, to be claimed again, where a row vanished between the insert and the look', async () => {
    // A purge that has begun: the insert does not wait for it, the look finds nothing once it has committed.
    const pool = withQueryHook(place.newPool(), async (text) => {
      if (text.includes('as is_late')) await place.pool.query(`delete from ${place.schema}.inbox`)
    })
    const inbox = await place.newInbox({ pool })
    const item = newItem()
    await inbox.mark([(await hold(inbox, item)).claim])
    expect(await claim(inbox, item)).toEqual({ verdict: 'busy', leaseLeftMs: 0 })
  })

  it('keeps 16 bytes of key and of digest, and no owner, reason or attempt of what is done', async () => {
    const inbox = await place.newInbox()
    const answers = await claimAll(
      inbox,
      Array.from({ length: 500 }, () => newItem()),
    )
    await inbox.mark(answers.map((answer) => grantedBy(answer).claim))
    const { rows } = await place.pool.query(
      `select octet_length(key) as key, octet_length(fp) as fp, owner, reason, pg_column_size(i.*) as bytes
       from ${place.schema}.inbox i limit 1`,
    )
    expect(rows).toEqual([{ key: 16, fp: 16, owner: null, reason: null, bytes: expect.any(Number) }])
    expect((rows as { bytes: number }[])[0]?.bytes).toBeLessThanOrEqual(88)
    expect((await place.pool.query(`select * from ${place.schema}.attempt`)).rows).toEqual([])
  })

  it('finishes every claim when far more are made than there are connections', async () => {
    const pool = place.newPool({ max: 3 })
    const inboxes = [await place.newInbox({ pool }), await place.newInbox({ pool })]
    const items = Array.from({ length: 30 }, () => newItem())
    await Promise.all(
      items.map(async (item, index) => {
        const inbox = inboxes[index % 2]
        if (inbox === undefined) throw new Error('expected an inbox')
        const { claim: claimed } = await hold(inbox, item)
        await place.write(lend(claimed).tx, item.key)
        await (index % 3 === 0 ? inbox.release([claimed], NO_REFUND) : inbox.mark([claimed]))
      }),
    )
    expect(pool.totalCount).toBeLessThanOrEqual(3)
    expect(pool.waitingCount).toBe(0)
    const answers = await claimAll(await place.newInbox(), items)
    expect(answers.map(({ verdict }) => verdict)).toEqual(
      items.map((_, index) => (index % 3 === 0 ? 'again-alone' : 'done')),
    )
  })

  it('refuses a claim in the hands of someone who never got it, and a mark of less than the transaction', async () => {
    const inbox = await place.newInbox()
    const claims = (await claimAll(inbox, [newItem(), newItem()])).map((answer) => grantedBy(answer).claim)
    const [one, two] = claims
    if (one === undefined || two === undefined) throw new Error('expected two claims')
    const stranger = [{ ...one, token: 'somebody else' }]
    expect(await inbox.mark(stranger)).toEqual(['refused-busy'])
    expect(await inbox.release(stranger, NO_REFUND)).toEqual(['refused'])
    expect(await inbox.setAside(stranger, 'parked', { reason: 'no' })).toEqual(['refused'])
    expect(await inbox.renew(stranger, 1)).toEqual(['lost'])
    await expect(inbox.mark([one])).rejects.toMatchObject({ code: 'STORE_MISUSED' })
    expect(await inbox.mark([two, one])).toEqual(['marked', 'marked'])
  })

  it('sets aside with any reason, whatever the encoding of the database', async () => {
    const inbox = await place.newInbox()
    const item = newItem()
    const { claim: claimed } = await hold(inbox, item)
    expect(await inbox.setAside([claimed], 'parked', { reason: 'zero \0 byte' })).toEqual(['parked'])
    expect(await claim(inbox, item)).toMatchObject({ verdict: 'parked', reason: 'zero ? byte' })
  })

  it('refuses to set aside what another owner holds or has done', async () => {
    const [first, second] = [await place.newInbox({ lockTimeoutMs: 50 }), await place.newInbox()]
    for (const isDone of [false, true]) {
      const [taken, free] = [newItem(), newItem()]
      const claims = (await claimAll(first, [taken, free])).map((answer) => grantedBy(answer).claim)
      await first.release(claims, NO_REFUND)
      const rival = await hold(second, taken, ALONE)
      if (isDone) await second.mark([rival.claim])
      expect(await first.setAside(claims, 'given-up', { reason: 'no' })).toEqual(['refused', 'given-up'])
      expect(await second.mark([rival.claim])).toEqual([isDone ? 'already-marked' : 'marked'])
    }
  })
})

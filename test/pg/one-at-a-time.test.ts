import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { Client, type Pool } from 'pg'
import { postgresLease, type PgTransaction } from '../../adapters/pg/index.ts'
import type { Store } from '../../src/index.ts'
import type { ClaimItem } from '../../src/internal.ts'
import { claim, claimAll, hold, newItem, SCOPE } from '../../testing/contract/store/claims.ts'
import { ALONE, codeOf, describePostgres, lend, newPlace, NO_REFUND, REFUND, type PgPlace } from './support.ts'

const WHY = { by: 'test', reason: 'test', retentionMs: 60_000 }
const REASON = { reason: 'test' }

/** Texts that any client of a test sent while another was under way. */
const beside: string[] = []

/** Refuses what `pg` 9 will refuse: a second query while one is under way. */
class StrictClient extends Client {
  #underWay: string | undefined

  readonly #send = super.query.bind(this) as (...args: unknown[]) => Promise<unknown>

  override query = ((...args: unknown[]): unknown => {
    const [query] = args as [string | { text: string }]
    const text = typeof query === 'string' ? query : query.text
    if (this.#underWay !== undefined) {
      beside.push(`${text} WHILE ${this.#underWay}`)
      throw new Error('a second query while one is under way')
    }
    this.#underWay = text
    const answer = this.#send(...args)
    const end = (): void => void (this.#underWay = undefined)
    answer.then(end, end)
    return answer
  }) as Client['query']
}

describePostgres('a client of pg', () => {
  let place: PgPlace
  beforeEach(async () => {
    beside.length = 0
    place = await newPlace()
  })
  afterEach(() => place.close())

  const strictPool = (max = 6): Pool => {
    const pool = place.newPool({ max, Client: StrictClient })
    pool.on('error', () => {})
    return pool
  }

  it('that is strict tells of a second query', async () => {
    const client = await strictPool().connect()
    const first = client.query('select 1')
    expect(() => void client.query('select 2')).toThrow('a second query')
    await first
    await client.query('select 3')
    client.release()
    expect(beside).toEqual(['select 2 WHILE select 1'])
  })

  it.each(['commit', 'flush-ticker'] as const)(
    'gets no second query from an inbox while one is under way, whatever handlers send at once (%s)',
    async (durability) => {
      const inbox = await place.newInbox({ pool: strictPool(), durability, lockTimeoutMs: 100 })
      const rival = await place.newInbox({ pool: strictPool(), durability, lockTimeoutMs: 100 })
      await Promise.all(
        Array.from({ length: 12 }, async (_, n) => {
          const item = newItem()
          const { claim: claimed } = await hold(inbox, item)
          const { tx } = lend(claimed)
          await Promise.allSettled([
            ...Array.from({ length: 5 }, () => place.write(tx, item.key)),
            ...(n % 4 === 1 ? [tx.query('select 1 / 0'), tx.query('commit')] : []),
            claimAndMark(rival, item),
            inbox.renew([claimed], 1_000),
          ])
          await Promise.allSettled([ending(inbox, n)(claimed), place.write(tx, 'late'), inbox.renew([claimed], 1_000)])
          await Promise.all([claimAndMark(inbox, item), claimAndMark(rival, item)])
          await Promise.all([
            inbox.admin?.peek(SCOPE, [item.key]),
            inbox.admin?.list(SCOPE, { state: 'parked', limit: 10 }),
            rival.admin?.reopen(SCOPE, [item.key], WHY),
            rival.admin?.purge(SCOPE, { retentionMs: 60_000, limit: 10 }),
            inbox.checkup?.(),
          ])
        }),
      )
      expect(beside).toEqual([])
    },
    60_000,
  )

  it('gets none from stored offsets, nor from leases', async () => {
    const [offsets, lease] = [
      await place.newOffsets({ pool: strictPool() }),
      postgresLease({ pool: strictPool(), schema: place.schema }),
    ]
    await lease.open()
    await Promise.all(
      Array.from({ length: 8 }, async (_, n) => {
        const position = { stream: `orders:${n}`, offset: 0n, follows: undefined }
        const { claim: claimed } = await hold(offsets, { ...newItem({ digest: '' }), position })
        const { tx } = lend(claimed)
        await Promise.allSettled([place.write(tx, 'a'), tx.query('select 1 / 0'), place.write(tx, 'b')])
        await Promise.allSettled([ending(offsets, n)(claimed), offsets.positions?.next(SCOPE, [position.stream])])
        const items = [newItem(), newItem()]
        const claims = (await claimAll(lease, items, ALONE)).flatMap((answer) =>
          'claim' in answer ? [answer.claim] : [],
        )
        await Promise.all([lease.renew(claims, 1_000), lease.mark(claims), claimAll(lease, items)])
        await Promise.all(items.map(async ({ key }) => lease.admin?.peek(SCOPE, [key])))
      }),
    )
    expect(beside).toEqual([])
  })
})

/** Each in its turn: mark, release, set aside. */
function ending(
  store: Store<PgTransaction>,
  n: number,
): (claimed: Parameters<Store<PgTransaction>['mark']>[0][number]) => Promise<unknown> {
  if (n % 4 < 2) return (claimed) => codeOf(store.mark([claimed]))
  if (n % 4 === 2) return (claimed) => store.release([claimed], n % 8 < 4 ? REFUND : NO_REFUND)
  return (claimed) => store.setAside([claimed], 'parked', REASON)
}

async function claimAndMark(store: Store<PgTransaction>, item: ClaimItem): Promise<void> {
  const answer = await claim(store, item, ALONE)
  if ('claim' in answer) await codeOf(store.mark([answer.claim]))
}

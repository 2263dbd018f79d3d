import { eventually, untilResolved } from '../kit/eventually.ts'
import { lentPlaces } from '../kit/lent-places.ts'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import type { PgTransaction } from '../../adapters/pg/index.ts'
import type { ClaimItem, OffsetsStore } from '../../src/internal.ts'
import { claim, claimAll, grantedBy, hold, newItem, newName } from '../../testing/contract/store/claims.ts'
import { openedForEach } from '../kit/opened.ts'
import { startFaultProxy, type FaultProxy } from '../kit/fault-proxy.ts'
import { startPrivatePostgres } from '../kit/servers/private-postgres.ts'
import { server, SERVER_WITHIN_MS } from '../kit/servers/server.ts'
import { ALONE, NO_REFUND, REFUND, codeOf, describePostgres, lend, newPlace, pidOf, type PgPlace } from './support.ts'

let place: PgPlace
openedForEach(
  lentPlaces(() => newPlace()),
  (made) => (place = made),
)

/** Messages of a stream without gaps, from the first that is not over. */
function messages(stream: string, from: number, count: number): readonly ClaimItem[] {
  return Array.from({ length: count }, (_, index) => {
    const offset = BigInt(from + index)
    return { ...newItem({ digest: '' }), position: { stream, offset, follows: offset === 0n ? undefined : offset } }
  })
}

function message(stream: string, offset: number): ClaimItem {
  const [item] = messages(stream, offset, 1)
  if (item === undefined) throw new Error('expected a message')
  return item
}

/** Messages of a stream from its beginning, with gaps. */
function gapped(stream: string, offsets: readonly number[]): readonly ClaimItem[] {
  return offsets.map((offset, index) => {
    const before = offsets[index - 1]
    const follows = before === undefined ? undefined : BigInt(before + 1)
    return { ...newItem({ digest: '' }), position: { stream, offset: BigInt(offset), follows } }
  })
}

/** Rows that only a handler can have committed. */
const begun = async (): Promise<number> =>
  (await place.pool.query<{ n: number }>(`select count(*)::int as n from ${place.schema}.begun`)).rows[0]?.n ?? -1

const nextOf = async (store: OffsetsStore<PgTransaction>, stream: string): Promise<bigint | undefined> =>
  (await store.positions?.next('contract/store', [stream]))?.get(stream)?.next

describePostgres('postgresOffsets on a connection that is lost', () => {
  let proxy: FaultProxy
  let store: OffsetsStore<PgTransaction>
  beforeEach(async () => {
    const url = new URL((await server('postgres')).url)
    proxy = await startFaultProxy(Number(url.port || 5432))
    url.hostname = '127.0.0.1'
    url.port = String(proxy.port)
    const pool = place.newPool({ connectionString: url.href })
    store = await place.newOffsets({ pool, lockTimeoutMs: 100 })
  })
  afterEach(() => proxy.stop())

  it('answers already-marked once it is clear that a COMMIT whose reply was lost has happened', async () => {
    const commits = await place.holdCommits()
    const stream = newName()
    const { claim: claimed } = await hold(store, message(stream, 0))
    await place.write(lend(claimed).tx, stream)
    const mark = codeOf(store.mark([claimed]))
    await commits.waiting()
    proxy.cut()
    expect(await mark).toBe('STORE_AMBIGUOUS')
    // Its backend is still at it: that the position has not moved proves nothing.
    expect(await nextOf(store, stream)).toBe(0n)
    expect(await codeOf(store.mark([claimed]))).toBe('STORE_AMBIGUOUS')
    expect(await store.release([claimed], NO_REFUND)).toEqual(['refused'])
    await commits.letGo()
    await eventually(async () => (await place.committed(stream)) === 1)
    expect(await store.mark([claimed])).toEqual(['already-marked'])
    expect(await store.mark([claimed])).toEqual(['already-marked'])
    expect(await place.committed(stream)).toBe(1)
    expect(await claim(store, message(stream, 0))).toEqual({ verdict: 'done' })
  })

  it('answers refused-busy once it is clear that a COMMIT whose reply was lost has not happened', async () => {
    const commits = await place.holdCommits()
    const [stream, other] = [newName(), newName()]
    const [one, two] = await claimAll(store, [message(stream, 0), message(other, 0)])
    const claims = [grantedBy(one).claim, grantedBy(two).claim]
    const { tx } = lend(grantedBy(one).claim)
    const pid = await pidOf(tx)
    await place.write(tx, stream)
    const mark = codeOf(store.mark(claims))
    await commits.waiting()
    proxy.cut()
    await place.terminate(pid)
    expect(await mark).toBe('STORE_AMBIGUOUS')
    expect(await store.mark(claims)).toEqual(['refused-busy', 'refused-busy'])
    expect(await place.committed(stream)).toBe(0)
    const again = await hold(store, message(stream, 0))
    expect(again.attempt).toBe(1)
    await store.release([again.claim], NO_REFUND)
  })

  it('answers refused-done when another owner has marked since', async () => {
    const commits = await place.holdCommits()
    const stream = newName()
    const { claim: claimed } = await hold(store, message(stream, 0))
    const { tx } = lend(claimed)
    const pid = await pidOf(tx)
    await place.write(tx, stream)
    const mark = codeOf(store.mark([claimed]))
    await commits.waiting()
    proxy.cut()
    await place.terminate(pid)
    await mark
    await commits.letGo()
    const rival = await place.newOffsets()
    const granted = await hold(rival, message(stream, 0), ALONE)
    await place.write(lend(granted.claim).tx, stream)
    await rival.mark([granted.claim])
    expect(await store.mark([claimed])).toEqual(['refused-done'])
    expect(await place.committed(stream)).toBe(1)
  })

  it('keeps the attempts of a transaction whose backend died, and gives back that of one that the store lost', async () => {
    const stream = newName()
    const { claim: claimed } = await hold(store, message(stream, 0))
    await place.terminate(await pidOf(lend(claimed).tx))
    const second = await place.newOffsets()
    const rival = await hold(second, message(stream, 0), ALONE)
    expect(rival.attempt).toBe(2)
    await second.release([rival.claim], NO_REFUND)
    expect(await codeOf(store.mark([claimed]))).toMatch(/^STORE_/)
    expect(await store.mark([claimed])).toEqual(['refused-busy'])
    const third = await hold(store, message(stream, 0), ALONE)
    expect(third.attempt).toBe(3)
    await store.release([third.claim], NO_REFUND)
  })

  it('sets a claim aside whose connection is gone', async () => {
    const stream = newName()
    const { claim: claimed } = await hold(store, message(stream, 0))
    proxy.cut()
    expect(await store.setAside([claimed], 'given-up', { reason: 'why \0' })).toEqual(['given-up'])
    expect(await claim(store, message(stream, 0))).toMatchObject({ verdict: 'given-up', reason: 'why ?' })
  })

  it('frees the partition of a process that is frozen after idleInTransactionTimeoutMs', async () => {
    const stream = newName()
    const frozen = await place.newOffsets({ idleInTransactionTimeoutMs: 100 })
    // On a busy machine it may be idle for that long in its claim.
    const { claim: claimed } = await untilResolved(() => hold(frozen, message(stream, 0), ALONE))
    const second = await place.newOffsets({ lockTimeoutMs: 5_000 })
    const rival = await hold(second, message(stream, 0), ALONE)
    expect(await second.mark([rival.claim])).toEqual(['marked'])
    expect(await codeOf(frozen.mark([claimed]))).toBe('COMMIT_REFUSED')
    expect(await frozen.mark([claimed])).toEqual(['refused-busy'])
  })

  it('rejects while there is no connection, also what asks for positions', async () => {
    const stream = newName()
    await store.mark([(await hold(store, message(stream, 0))).claim])
    proxy.refuse()
    proxy.cut()
    expect(await codeOf(nextOf(store, stream))).toMatch(/^STORE_/)
    expect(await codeOf(nextOf(store, stream))).toBe('STORE_UNREACHABLE')
    proxy.accept()
    expect(await nextOf(store, stream)).toBe(1n)
  })
})

describePostgres('postgresOffsets between processes', () => {
  it('does not keep the other partitions of a claim waiting for one that is held elsewhere', async () => {
    const [first, second] = [await place.newOffsets(), await place.newOffsets({ lockTimeoutMs: 50 })]
    const [held, free] = [newName(), newName()]
    const { claim: claimed } = await hold(first, message(held, 0))
    const answers = await claimAll(second, [message(held, 0), message(free, 0), message(held, 1)])
    expect(answers).toMatchObject([
      { verdict: 'busy', leaseLeftMs: 50 },
      { verdict: 'claimed' },
      { verdict: 'busy', leaseLeftMs: 50 },
    ])
    expect(await second.mark([grantedBy(answers[1]).claim])).toEqual(['marked'])
    expect(await claim(second, message(held, 0))).toEqual({ verdict: 'busy', leaseLeftMs: 50 })
    expect(await first.mark([claimed])).toEqual(['marked'])
    expect(await claim(second, message(held, 0))).toEqual({ verdict: 'done' })
  })

  it('claims many partitions in opposite order at once without a deadlock, each message once', async () => {
    const streams = Array.from({ length: 20 }, newName)
    const wanted = streams.flatMap((stream) => messages(stream, 0, 3))
    const handled: string[] = []
    const member = async (items: readonly ClaimItem[]): Promise<void> => {
      const store = await place.newOffsets({ lockTimeoutMs: 2_000 })
      const answers = await claimAll(store, items)
      const claims = answers.flatMap((answer) => ('claim' in answer ? [answer.claim] : []))
      for (const claimed of claims) await place.write(lend(claimed).tx, 'one of many')
      const verdicts = await store.mark(claims)
      handled.push(...claims.filter((_, index) => verdicts[index] === 'marked').map(({ key }) => key))
    }
    await Promise.all([wanted, wanted.toReversed().toSorted(byOffset), wanted, wanted].map(member))
    expect(handled).toHaveLength(60)
    expect(await place.committed('one of many')).toBe(60)
  })

  it(
    'keeps one row of a partition in one page, however many messages it has',
    async () => {
      // In a Postgres of its own: a transaction of another test, open beside it, would keep the old versions of the row.
      await using postgres = await startPrivatePostgres()
      const alone = await newPlace(postgres.url)
      const store = await alone.newOffsets()
      const stream = newName()
      for (let batch = 0; batch < 150; batch++) {
        const claims = (await claimAll(store, messages(stream, batch * 10, 10))).map((one) => grantedBy(one).claim)
        await store.mark(claims)
      }
      const { rows } = await alone.pool.query(
        `select count(*)::int as rows, max(next_offset)::int as next, pg_relation_size('${alone.schema}.position')::int as bytes,
         (select count(*)::int from ${alone.schema}.attempt) + (select count(*)::int from ${alone.schema}.inbox) as others
       from ${alone.schema}.position`,
      )
      expect(rows).toEqual([{ rows: 1, next: 1500, bytes: 8192, others: 0 }])
      await alone.close()
    },
    SERVER_WITHIN_MS,
  )

  it('parks all messages of a transaction that a handler has committed by itself, in their order, and goes on behind them', async () => {
    const [store, second] = [await place.newOffsets(), await place.newOffsets()]
    const stream = newName()
    const items = gapped(stream, [0, 1, 5])
    const claims = (await claimAll(store, items)).map((answer) => grantedBy(answer).claim)
    const [, , last] = claims
    if (last === undefined) throw new Error('expected three claims')
    const { tx } = lend(last)
    await place.write(tx, stream)
    expect(await codeOf(tx.query({ text: '/* hidden */ commit' }))).toBe('TRANSACTION_OVER')
    // Another process has the stream before this one has noticed anything.
    const torn = { verdict: 'parked', reason: expect.stringMatching(/^transaction-torn/) }
    for (const how of [{}, ALONE]) {
      expect(await claimAll(second, items, how)).toMatchObject([torn, { verdict: 'busy' }, { verdict: 'busy' }])
    }
    expect(await codeOf(store.mark(claims))).toBe('COMMIT_REFUSED')
    expect(await store.release(claims, NO_REFUND)).toEqual(['released', 'released', 'released'])
    expect(await nextOf(store, stream)).toBe(0n)
    for (const [index, { position }] of items.entries()) {
      const [met, ...others] = await claimAll(second, items.slice(index), ALONE)
      expect([met, others.map(({ verdict }) => verdict)]).toMatchObject([torn, others.map(() => 'busy')])
      if (position !== undefined) await second.positions?.pass('contract/store', position)
    }
    expect(await nextOf(store, stream)).toBe(6n)
    expect(await claimAll(store, items)).toEqual(items.map(() => ({ verdict: 'done' })))
    expect(await place.committed(stream)).toBe(1)
    expect(await second.mark([(await hold(second, message(stream, 6))).claim])).toEqual(['marked'])
    expect(await begun()).toBe(0)
  })

  it('runs again what was in a transaction that a handler has rolled back by itself', async () => {
    const store = await place.newOffsets()
    const stream = newName()
    const { claim: claimed } = await hold(store, message(stream, 0))
    const { tx } = lend(claimed)
    await place.write(tx, stream)
    expect(await codeOf(tx.query({ text: '/* hidden */ rollback' }))).toBe('TRANSACTION_OVER')
    expect(await store.release([claimed], NO_REFUND)).toEqual(['released'])
    const again = await hold(store, message(stream, 0), ALONE)
    expect(again.attempt).toBe(2)
    expect(await store.mark([again.claim])).toEqual(['marked'])
    expect([await place.committed(stream), await begun()]).toEqual([0, 0])
  })

  it('parks what a handler has committed by itself also where it is to be given up', async () => {
    const store = await place.newOffsets()
    const stream = newName()
    const { claim: claimed } = await hold(store, message(stream, 0))
    await codeOf(lend(claimed).tx.query('/* hidden */ commit'))
    for (let n = 0; n < 2; n++) {
      expect(await store.setAside([claimed], 'given-up', { reason: 'attempts-spent' })).toEqual(['parked'])
    }
    expect(await claim(store, message(stream, 0))).toMatchObject({ verdict: 'parked' })
    await store.positions?.pass('contract/store', { stream, offset: 0n })
    expect([await nextOf(store, stream), await begun()]).toEqual([1n, 0])
  })

  it('grants what a person has sent a torn stream back to', async () => {
    const store = await place.newOffsets()
    const stream = newName()
    const { claim: claimed } = await hold(store, message(stream, 0))
    await codeOf(lend(claimed).tx.query('/* hidden */ commit'))
    await store.release([claimed], NO_REFUND)
    await store.positions?.hold('contract/store', { stream, next: 0n }, 'why')
    await store.positions?.release('contract/store', stream, { from: 0n, by: 'kim', reason: 'OPS-1' })
    expect(await store.mark([(await hold(store, message(stream, 0))).claim])).toEqual(['marked'])
    // A position that is gone takes with it what was known of its messages.
    const { claim: second } = await hold(store, message(stream, 1))
    await codeOf(lend(second).tx.query('/* hidden */ commit'))
    await store.release([second], NO_REFUND)
    await place.move(stream, undefined)
    expect(await store.mark([(await hold(store, message(stream, 0))).claim])).toEqual(['marked'])
    expect(await begun()).toBe(0)
  })

  it('leaves no trace of a transaction that was given back, or committed', async () => {
    const store = await place.newOffsets()
    const stream = newName()
    await store.release([(await hold(store, message(stream, 0))).claim], REFUND)
    expect(await begun()).toBe(0)
    const { claim: claimed, attempt } = await hold(store, message(stream, 0))
    expect(attempt).toBe(1)
    expect(await store.mark([claimed])).toEqual(['marked'])
    expect(await begun()).toBe(0)
  })

  it('counts an error that is deferred to the COMMIT as one of the handler, whatever it is', async () => {
    const store = await place.newOffsets()
    const stream = newName()
    await place.alter(`create function ${place.schema}.fail() returns trigger language plpgsql as
      $$ begin perform 'x'::int; return null; end $$;
      create constraint trigger fail after insert on ${place.schema}.effect deferrable initially deferred
      for each row execute function ${place.schema}.fail()`)
    const { claim: claimed } = await hold(store, message(stream, 0))
    await place.write(lend(claimed).tx, stream)
    expect(await codeOf(store.mark([claimed]))).toBe('COMMIT_REFUSED')
    await store.release([claimed], NO_REFUND)
    const again = await hold(store, message(stream, 0), ALONE)
    expect(again.attempt).toBe(2)
    await store.release([again.claim], NO_REFUND)
  })

  it('takes no claim without a position', async () => {
    const store = await place.newOffsets()
    expect(await codeOf(claim(store, newItem()))).toBe('STORE_MISUSED')
  })
})

function byOffset(a: ClaimItem, b: ClaimItem): number {
  return Number((a.position?.offset ?? 0n) - (b.position?.offset ?? 0n))
}

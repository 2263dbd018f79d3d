import { describe, expect, it } from '@jest/globals'
import { claim, claimAll, grantedBy, hold, newItem, newToken } from '../../../testing/contract/store/claims.ts'
import { keysAsStreams } from '../../../testing/contract/store/keys-as-streams.ts'
import { InboxDatabase } from '../../../testing/stores/inbox-database.ts'
import { MemoryInbox } from '../../../testing/stores/memory-inbox.ts'
import { MemoryOffsets } from '../../../testing/stores/memory-offsets.ts'
import type { MemoryTx } from '../../../testing/stores/memory-transaction.ts'
import { OffsetsDatabase } from '../../../testing/stores/offsets-database.ts'
import { turns } from '../../kit/manual-clock.ts'
import type { Store } from '../../../src/index.ts'

const ALONE = { alone: true }

interface Two {
  readonly first: Store<MemoryTx>
  readonly second: Store<MemoryTx>
  readonly effects: readonly string[]
  readonly die: () => void
  readonly dieSecond: () => void
  readonly openTransactions: () => number
}

/** Two processes on one database, with locks that wait. */
const STORES: readonly (readonly [string, () => Two])[] = [
  [
    'the inbox in memory',
    () => {
      const database = new InboxDatabase()
      return twoOf(
        [new MemoryInbox({ database, whenHeld: 'wait' }), new MemoryInbox({ database, whenHeld: 'wait' })],
        database,
      )
    },
  ],
  [
    'the offsets in memory',
    () => {
      const database = new OffsetsDatabase()
      return twoOf(
        [new MemoryOffsets({ database, whenHeld: 'wait' }), new MemoryOffsets({ database, whenHeld: 'wait' })],
        database,
      )
    },
  ],
]

describe.each(STORES)('%s', (_name, newTwo) => {
  it('rolls back what a process had open when it dies, and keeps its attempt', async () => {
    const { first, second, effects, die, openTransactions } = newTwo()
    const item = newItem()
    const { claim: claimed } = await hold(first, item)
    await claimed.transaction?.lend().tx.insert('a')
    die()
    expect([effects, openTransactions()]).toEqual([[], 0])
    expect(await first.mark([claimed])).toEqual(['refused-busy'])
    expect(await hold(second, item, ALONE)).toMatchObject({ attempt: 2 })
  })

  it('grants a key to whoever waited for it when its owner dies', async () => {
    const { first, second, die } = newTwo()
    const item = newItem()
    await hold(first, item)
    const waiting = claim(second, item, ALONE)
    await turns()
    die()
    expect(await waiting).toMatchObject({ verdict: 'claimed', attempt: 2 })
  })

  it('grants nothing to a process that died while it waited', async () => {
    const { first, second, dieSecond } = newTwo()
    const item = newItem()
    const { claim: claimed } = await hold(first, item)
    const waiting = claim(second, item).catch((error: unknown) => error)
    await turns()
    dieSecond()
    await first.release([claimed], { refund: false, doubt: false })
    expect(await waiting).toMatchObject({ code: 'STORE_UNREACHABLE' })
    expect(await hold(first, item, ALONE)).toMatchObject({ attempt: 2 })
  })

  it('wakes whoever waits in the order in which they came, and never two', async () => {
    const { first, second } = newTwo()
    const item = newItem()
    const { claim: claimed } = await hold(first, item)
    const order: string[] = []
    const rivals = ['a', 'b', 'c'].map(async (name, at) => {
      const store = at % 2 === 0 ? first : second
      const granted = grantedBy(await claim(store, item, ALONE))
      order.push(name)
      await store.release([granted.claim], { refund: true, doubt: false })
    })
    await turns()
    expect(order).toEqual([])
    await first.release([claimed], { refund: true, doubt: false })
    await Promise.all(rivals)
    expect(order).toEqual(['a', 'b', 'c'])
  })

  it('lets crossing batches wait in one order: neither waits for the other for ever', async () => {
    const { first, second } = newTwo()
    const items = Array.from({ length: 20 }, () => newItem())
    const run = async (store: Store<MemoryTx>, batch: typeof items): Promise<readonly string[]> => {
      const answers = await claimAll(store, batch)
      await turns()
      const claims = answers.flatMap((answer) => ('claim' in answer ? [answer.claim] : []))
      await store.mark(claims)
      return answers.map(({ verdict }) => verdict)
    }
    const [ours, theirs] = await Promise.all([run(first, items), run(second, items.toReversed())])
    expect(new Set(ours)).toEqual(new Set(['claimed']))
    expect(new Set(theirs)).toEqual(new Set(['done']))
  })

  it('ends what the first call of a claim had opened when it is sent again', async () => {
    const { first, openTransactions } = newTwo()
    const [item, token] = [newItem(), newToken()]
    const { claim: lost } = await hold(first, item, { token })
    await lost.transaction?.lend().tx.insert('lost')
    const again = await hold(first, item, { token })
    expect([again.attempt, openTransactions()]).toEqual([1, 1])
    await expect(lost.transaction?.lend().tx.insert('late')).rejects.toMatchObject({ code: 'TRANSACTION_OVER' })
  })
})

it('the inbox in memory sets nothing aside that is another owner’s by now', async () => {
  const database = new InboxDatabase()
  const [first, second] = [new MemoryInbox({ database }), new MemoryInbox({ database })]
  const item = newItem()
  const { claim: late } = await hold(first, item)
  first.die()
  const { claim: owned } = await hold(second, item, ALONE)
  expect(await first.setAside([late], 'given-up', { reason: 'late' })).toEqual(['refused'])
  expect(await second.mark([owned])).toEqual(['marked'])
})

it('the inbox in memory lends what handlers expect', async () => {
  const inbox = new MemoryInbox({
    lendAs: ({ insert }: MemoryTx<{ readonly text: string }>) => ({ query: (text: string) => insert({ text }) }),
  })
  const { claim: claimed } = await hold(inbox, newItem())
  await claimed.transaction?.lend().tx.query('insert into sent values (1)')
  await inbox.mark([claimed])
  expect(inbox.database.effects).toEqual([{ text: 'insert into sent values (1)' }])
})

type Process = Store<MemoryTx> & {
  readonly openTransactions: number
  die(): void
}

function twoOf(
  [first, second]: readonly [Process, Process],
  { effects }: { readonly effects: readonly string[] },
): Two {
  return {
    first: onKeys(first),
    second: onKeys(second),
    effects,
    die: () => first.die(),
    dieSecond: () => second.die(),
    openTransactions: () => first.openTransactions,
  }
}

const onKeys = (store: Store<MemoryTx>): Store<MemoryTx> =>
  store.strategy === 'offsets' ? keysAsStreams(store) : store

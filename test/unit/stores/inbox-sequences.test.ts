import { expect, it } from '@jest/globals'
import type { Key, MarkVerdict } from '../../../src/core/record.ts'
import { sequenceKey } from '../../../src/identity/sequence-key.ts'
import type { SequenceLedger } from '../../../src/ports/sequence-ledger.ts'
import type { ClaimRequest, InboxStore, TransactionAnswer } from '../../../src/ports/store.ts'
import { inboxSequencesOver } from '../../../src/sequences/inbox.ts'
import { MemoryTransaction, type MemoryTx } from '../../../testing/stores/memory-transaction.ts'

const KEY: Key = sequenceKey('s'.repeat(43), 7n)
const REQUEST: ClaimRequest = {
  scope: 'group/consumer',
  token: 'token',
  leaseMs: 1_000,
  retentionMs: 60_000,
  alone: false,
  items: [{ key: KEY, digest: 'd' }],
}

/** Sources in a Map. */
function ledger(): SequenceLedger {
  const texts = new Map<string, string>()
  return {
    read: async (_scope, sources) => sources.map((source) => texts.get(source)),
    swap: async (_scope, swaps) =>
      swaps.map(({ source, from, to }) => {
        if (texts.get(source) !== from) return false
        texts.set(source, to)
        return true
      }),
  }
}

/** Records that grant the key, and answer each mark with the next of these verdicts. */
function records(isKnown: boolean, verdicts: MarkVerdict[]): InboxStore<MemoryTx> {
  const answer = ({ scope, token, retentionMs, items }: ClaimRequest): readonly TransactionAnswer<MemoryTx>[] =>
    items.map((item) => {
      const transaction = new MemoryTransaction<MemoryTx, string>({ token, lendAs: (tx) => tx, onEnd: () => {} })
      const claim = { ...item, scope, token, fence: 0, attempt: 1, retentionMs, transaction }
      return { verdict: 'claimed', fence: 0, attempt: 1, claim, ...(isKnown ? { isKnown } : {}) }
    })
  return {
    strategy: 'inbox',
    open: async () => {},
    claim: async (request) => answer(request),
    renew: async (claims) => claims.map(() => 'renewed'),
    mark: async (claims) => claims.map(() => verdicts.shift() ?? 'refused-busy'),
    release: async (claims) => claims.map(() => 'released'),
    setAside: async (claims, as) => claims.map(() => as),
  }
}

/** What a mark answers whose transaction was lost, for a number that its source says is done. */
async function markOfLost(isKnown: boolean): Promise<readonly MarkVerdict[]> {
  const options = { tail: 100, onBehind: 'park', maxGaps: 1_000, name: 'test' } as const
  const sources = ledger()
  const store = inboxSequencesOver(records(isKnown, ['refused-busy']), sources, options)
  const [first] = await store.claim(REQUEST)
  const before = inboxSequencesOver(records(false, ['marked']), sources, options)
  const [granted] = await before.claim(REQUEST)
  if (first === undefined || !('claim' in first) || granted === undefined || !('claim' in granted))
    throw new Error('not granted')
  await before.mark([granted.claim])
  return store.mark([first.claim])
}

it('a lost mark of a number that another process has done meanwhile is already marked', async () => {
  expect(await markOfLost(false)).toEqual(['already-marked'])
})

it('a lost mark of a number that a person lets run again is not taken for the run before: it runs again', async () => {
  expect(await markOfLost(true)).toEqual(['refused-busy'])
})

it('gives no transaction for a number that its source knows as done', async () => {
  const options = { tail: 0, onBehind: 'duplicate', maxGaps: 1_000, name: 'test' } as const
  const store = inboxSequencesOver(records(false, ['marked']), ledger(), options)
  const [granted] = await store.claim(REQUEST)
  if (granted === undefined || !('claim' in granted)) throw new Error('not granted')
  expect(await store.mark([granted.claim])).toEqual(['marked'])
  expect(await store.claim(REQUEST)).toMatchObject([{ verdict: 'done' }])
})

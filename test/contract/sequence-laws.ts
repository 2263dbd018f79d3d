import { createHash } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import * as fc from 'fast-check'
import { HIGHEST_NUMBER } from '../../src/core/sequence.ts'
import type { SequenceOptions } from '../../src/sequences/options.ts'
import type { ClaimItem, Store } from '../../src/ports/store.ts'
import { sequenceKey } from '../../src/identity/sequence-key.ts'
import { describeLaws, type Law } from '../../testing/contract/law.ts'
import { claim, claimAll, hold, newDigest, newName, SCOPE } from '../../testing/contract/store/claims.ts'

export interface SequenceHarness {
  readonly store: Store<unknown>
  readonly secondStore: () => Promise<Store<unknown>>
  /** Records and sources together. */
  readonly count: () => Promise<number>
  readonly plantSource: (source: string, text: string) => Promise<void>
  readonly forget?: ((key: string) => Promise<void>) | undefined
  readonly close: () => Promise<void>
}

/** Gets a source of its own. */
type Keep = (of: SequenceHarness, source: TestSource) => Promise<void>

type SequenceLaw = Law<(options: SequenceOptions) => Promise<SequenceHarness>>

const WHY = { by: 'a law', reason: 'because', retentionMs: 3_600_000 }
const HOUR = { retentionMs: 3_600_000 }

/** What a store of sequences must do beside the contract of its strategy. */
export function describeSequences(
  name: string,
  createHarness: (options: SequenceOptions) => Promise<SequenceHarness>,
  strategy: 'lease' | 'inbox' = 'lease',
): void {
  const laws = sequenceLaws(strategy)
  describeLaws(
    `${name} keeps the laws of sequences`,
    { laws, keep: (law) => law.run(createHarness), timeoutMs: 60_000 },
    { describe, it },
  )
}

function sequenceLaws(strategy: 'lease' | 'inbox'): readonly SequenceLaw[] {
  const laws: SequenceLaw[] = []
  const law = (name: string, options: SequenceOptions, keep: Keep): void => {
    const run: SequenceLaw['run'] = async (createHarness) => {
      const harness = await createHarness(options)
      try {
        await keep(harness, newSource())
      } finally {
        await harness.close()
      }
    }
    laws.push({ name, run })
  }

  law('keeps one record for a source, and those of its tail', { tail: 2 }, async ({ store, count }, source) => {
    const before = await count()
    await doAll(store, source.items(1, 50))
    expect((await count()) - before).toBe(3)
    expect(await verdicts(store, source.items(49, 50))).toEqual(['done', 'done'])
  })

  law('never takes a gap for a duplicate, whatever the order', { tail: 0 }, async ({ store, secondStore }, source) => {
    await doAll(store, [7, 3, 9, 1].map(source.item))
    const rest = [0, 2, 4, 5, 6, 8, 10].map(source.item)
    expect(await verdicts(await secondStore(), rest)).toEqual(rest.map(() => 'claimed'))
  })

  law(
    'knows what is done beyond its tail: parked, for a person',
    { tail: 1 },
    async ({ store, secondStore }, source) => {
      await doAll(store, source.items(1, 5))
      const parked = { verdict: 'parked', reason: 'behind-sequence' }
      expect(await claim(store, source.item(2))).toMatchObject(parked)
      expect(await claim(await secondStore(), source.item(2))).toMatchObject(parked)
      expect(await claim(store, source.item(5))).toMatchObject({ verdict: 'done' })
    },
  )

  law('settles it as a duplicate if no number comes again', { tail: 1, onBehind: 'duplicate' }, async (of, source) => {
    await doAll(of.store, source.items(1, 5))
    const before = await of.count()
    expect(await verdicts(of.store, source.items(1, 4))).toEqual(['done', 'done', 'done', 'done'])
    expect(await of.count()).toBe(before)
  })

  law('tells a sender that began again within the tail as a conflict', { tail: 10 }, async ({ store }, source) => {
    await doAll(store, source.items(1, 5))
    const again = source.items(1, 5).map((item) => ({ ...item, digest: newDigest() }))
    expect(await verdicts(store, again)).toEqual(again.map(() => 'conflict'))
  })

  law(
    'parks a sender that began again far behind, and never drops it [T264]',
    { tail: 3 },
    async ({ store }, source) => {
      await doAll(store, source.items(1, 40))
      const again = source.items(0, 3).map((item) => ({ ...item, digest: newDigest() }))
      expect(await verdicts(store, again)).toEqual(['claimed', 'parked', 'parked', 'parked'])
    },
  )

  law('parks the first numbers after a wrap', { tail: 2 }, async ({ store }, source) => {
    const high = [HIGHEST_NUMBER - 1n, HIGHEST_NUMBER].map(source.item)
    await doAll(store, [...source.items(0, 5), ...high])
    expect(await verdicts(store, source.items(0, 1))).toEqual(['parked', 'parked'])
    expect(await verdicts(store, high)).toEqual(['done', 'done'])
    expect(await verdicts(store, [source.item(6)])).toEqual(['claimed'])
  })

  law('tells two senders with one name as conflicts', { tail: 10 }, async ({ store, secondStore }) => {
    const [one, other] = [newSource(), newSource()]
    await doAll(store, one.items(1, 3))
    const theirs = other.items(1, 4).map((item, at) => ({ ...item, key: one.item(at + 1).key }))
    expect(await verdicts(await secondStore(), theirs)).toEqual(['conflict', 'conflict', 'conflict', 'claimed'])
  })

  law('an epoch in the source makes all numbers new', { tail: 1 }, async ({ store }) => {
    const [boot, reboot] = [newSource(), newSource()]
    await doAll(store, boot.items(1, 20))
    expect(await verdicts(store, reboot.items(1, 3))).toEqual(['claimed', 'claimed', 'claimed'])
  })

  law(
    'parks a number whose gap is forgotten, also where duplicates are settled [T265]',
    { tail: 0, maxGaps: 2, onBehind: 'duplicate' },
    async ({ store }, source) => {
      for (const number of [1, 3, 5, 7]) await doAll(store, [source.item(number)])
      // Gaps 0, 2, 4, 6: the last two are kept.
      expect(await verdicts(store, [0, 1, 2, 3].map(source.item))).toEqual(['parked', 'parked', 'parked', 'done'])
      expect(await verdicts(store, [4, 6, 8].map(source.item))).toEqual(['claimed', 'claimed', 'claimed'])
    },
  )

  law('keeps numbers apart beyond 2^53', { tail: 0, onBehind: 'duplicate' }, async ({ store }, source) => {
    const start = 2n ** 53n
    await doAll(store, [start, start + 2n].map(source.item))
    const near = [start - 1n, start, start + 1n, start + 2n, start + 3n].map(source.item)
    expect(await verdicts(store, near)).toEqual(['claimed', 'done', 'claimed', 'done', 'claimed'])
  })

  law('keeps failed and running messages in records of their own', { tail: 0 }, async ({ store }, source) => {
    const [running, failed] = [await hold(store, source.item(1)), await hold(store, source.item(2))]
    await store.setAside([failed.claim], 'given-up', { reason: 'no' })
    await doAll(store, source.items(3, 6))
    expect(await claim(store, source.item(1))).toMatchObject({ verdict: 'busy' })
    expect(await claim(store, source.item(2))).toMatchObject({ verdict: 'given-up', reason: 'no' })
    expect(await store.mark([running.claim])).toEqual(['marked'])
  })

  law(
    'takes a mark that is sent again for the same mark, also beyond the tail',
    { tail: 0 },
    async ({ store, count }, source) => {
      const before = await count()
      const { claim: claimed } = await hold(store, source.item(1), HOUR)
      await store.mark([claimed])
      await store.mark([claimed])
      expect((await count()) - before).toBe(1)
      expect(await claim(store, source.item(1))).toMatchObject({ verdict: 'parked' })
    },
  )

  law('lets a person run a number again, and look at it', { tail: 0 }, async ({ store }, source) => {
    await doAll(store, source.items(1, 3))
    const { admin } = store
    if (admin === undefined) throw new TypeError('a store with admin was expected (sequence-laws)')
    const { key } = source.item(2)
    expect(await admin.peek(SCOPE, [key, source.item(9).key])).toMatchObject([{ state: 'done' }, { state: 'absent' }])
    expect(await admin.forget(SCOPE, [key], WHY)).toEqual(['decided'])
    expect(await answerTo(store, source.item(2))).toMatchObject({ verdict: 'claimed', attempt: 1 })
    // Parked by a claim, then decided.
    expect(await claim(store, source.item(1))).toMatchObject({ verdict: 'parked' })
    expect(await admin.resolve(SCOPE, [source.item(1).key], { ...WHY, as: 'rerun' })).toEqual(['decided'])
    expect(await verdicts(store, [source.item(1)])).toEqual(['claimed'])
  })

  for (const onBehind of ['park', 'duplicate'] as const) {
    law(
      `${strategy === 'inbox' ? 'runs' : 'parks'} what a person let run when that run has no known end (onBehind: '${onBehind}')`,
      { onBehind },
      async ({ store }) => {
        const item = newSource().item(1)
        await doAll(store, [item])
        expect(await store.admin?.forget(SCOPE, [item.key], WHY)).toEqual(['decided'])
        if (strategy === 'inbox') {
          // It has no doubt: what failed or died was rolled back, and the decision of the person holds.
          const { claim: failing } = await hold(store, item)
          await store.release([failing], { refund: false, doubt: false })
          expect(await answerTo(store, item, { alone: true })).toMatchObject({ verdict: 'claimed', attempt: 2 })
          return
        }
        expect(await claim(store, item, { leaseMs: 0 })).toMatchObject({ verdict: 'claimed' })
        expect(await claim(store, item, { alone: true })).toMatchObject({
          verdict: 'parked',
          reason: 'behind-sequence',
        })
      },
    )
  }

  law('imports into the source', { tail: 0, onBehind: 'duplicate' }, async ({ store, count }, source) => {
    const before = await count()
    const keys = source.items(1, 20).map(({ key }) => key)
    expect(new Set(await store.admin?.import?.(SCOPE, keys, WHY))).toEqual(new Set(['decided']))
    expect(new Set(await store.admin?.import?.(SCOPE, keys, WHY))).toEqual(new Set(['already']))
    expect((await count()) - before).toBeLessThanOrEqual(2)
    expect(await claim(store, source.item(20))).toMatchObject({ verdict: 'done' })
  })

  law('does not import what a person lets run again', { onBehind: 'duplicate' }, async ({ store }) => {
    const item = newSource().item(1)
    await doAll(store, [item])
    expect(await store.admin?.forget(SCOPE, [item.key], WHY)).toEqual(['decided'])
    expect(await store.admin?.import?.(SCOPE, [item.key], WHY)).toEqual(['refused'])
    expect(await verdicts(store, [item])).toEqual(['claimed'])
  })

  law('knows a source of two processes that mark at once', { tail: 0, onBehind: 'duplicate' }, async (of, source) => {
    const stores = [of.store, await of.secondStore(), await of.secondStore()]
    const all = source.items(0, 59)
    await Promise.all(all.map((item, at) => doAll(stores[at % 3] ?? of.store, [item])))
    expect(new Set(await verdicts(of.store, all))).toEqual(new Set(['done']))
  })

  law('parks what it cannot read the source of, and leaves the source alone', { tail: 0 }, async (of, source) => {
    await doAll(of.store, source.items(1, 3))
    await of.plantSource(source.name, 'S9|of a newer version')
    const fresh = await of.secondStore()
    const unreadable = { verdict: 'parked', reason: 'record-unreadable' }
    expect(await claim(fresh, source.item(4))).toMatchObject(unreadable)
    expect(await claim(fresh, source.item(4))).toMatchObject(unreadable)
  })

  law(
    'answers random orders, redeliveries and crashes as a set of done numbers would',
    { tail: 3, maxGaps: 1_000 },
    async (of) => {
      const steps = fc.array(
        fc.record({
          number: fc.integer({ min: 0, max: 30 }),
          does: fc.constantFrom('done', 'done', 'failed', 'given-up' as const),
          second: fc.boolean(),
        }),
        { minLength: 1, maxLength: 40 },
      )
      const second = await of.secondStore()
      await fc.assert(
        fc.asyncProperty(steps, async (run) => {
          const source = newSource()
          const done = new Set<number>()
          const aside = new Set<number>()
          for (const { number, does, second: bySecond } of run) {
            const store = bySecond ? second : of.store
            const answer = await claim(store, source.item(number), { ...HOUR, alone: true })
            if (!('claim' in answer)) {
              const expected = aside.has(number) ? ['given-up'] : ['done', 'parked']
              expect(expected).toContain(answer.verdict)
              expect(aside.has(number) || done.has(number)).toBe(true)
              continue
            }
            expect(done.has(number) || aside.has(number)).toBe(false)
            if (does === 'done') {
              await store.mark([answer.claim])
              done.add(number)
            } else if (does === 'failed') await store.release([answer.claim], { refund: false, doubt: false })
            else {
              await store.setAside([answer.claim], 'given-up', { reason: 'no' })
              aside.add(number)
            }
          }
        }),
        { numRuns: 50 },
      )
    },
  )
  return laws
}

interface TestSource {
  readonly name: string
  readonly item: (number: number | bigint) => ClaimItem
  /** `from` to `to`, both included. */
  readonly items: (from: number, to: number) => readonly ClaimItem[]
}

/** Each number has a digest of its own, always the same. */
function newSource(): TestSource {
  const hashed = createHash('sha256').update(newName()).digest('base64url')
  const item = (number: number | bigint): ClaimItem => ({
    key: sequenceKey(hashed, BigInt(number)),
    digest: createHash('sha256').update(`${hashed} ${number}`).digest().subarray(0, 16).toString('base64url'),
  })
  return {
    name: hashed.slice(0, 24),
    item,
    items: (from, to) => Array.from({ length: to - from + 1 }, (_, at) => item(from + at)),
  }
}

async function doAll(store: Store<unknown>, items: readonly ClaimItem[]): Promise<void> {
  const claims = (await claimAll(store, items, HOUR)).map((answer) => {
    if (!('claim' in answer)) throw new Error(`expected a grant, got ${answer.verdict} (sequence-laws)`)
    return answer.claim
  })
  await store.mark(claims)
}

/** Each in a call of its own: what one answers may change what is next. */
async function verdicts(store: Store<unknown>, items: readonly ClaimItem[]): Promise<readonly string[]> {
  const found: string[] = []
  for (const item of items) found.push((await answerTo(store, item, HOUR)).verdict)
  return found
}

/** An inbox gives the claim back, because its open transaction holds a connection of the pool. */
async function answerTo(
  store: Store<unknown>,
  item: ClaimItem,
  how: Parameters<typeof claim>[2] = {},
): Promise<Awaited<ReturnType<typeof claim>>> {
  const answer = await claim(store, item, how)
  if (store.strategy === 'inbox' && 'claim' in answer) {
    await store.release([answer.claim] as never, { refund: true, doubt: false })
  }
  return answer
}

import { expect } from '../expect.ts'
import type { ReplayLedger, Taking } from '../../../src/ports/replay.ts'
import type { Store } from '../../../src/ports/store.ts'
import { LONG_MS, newName, SCOPE, SHORT_MS, until } from './claims.ts'
import type { LeaseHarness, StoreHarness, StoreLaw } from './harness.ts'

const OTHER_SCOPE = 'contract/other {store}'

/** A character of each length in UTF-8, quotes, and what a server may take for syntax. */
const STATE = '{"a":"it\'s \\\\ | {b} é € 😀 %s $1 ?\\n"}'

function ledgerOf({ admin }: Store<unknown>): ReplayLedger {
  if (admin?.replays === undefined) throw new Error('expected a store with admin.replays')
  return admin.replays
}

function taking(how: Partial<Taking> = {}): Taking {
  return { owner: newName(), ttlMs: LONG_MS, state: STATE, ...how }
}

const HELD = { held: true, request: undefined }

/** Where replays keep their state. */
export const replayLaws: readonly StoreLaw[] = [
  {
    name: 'lets one owner take a replay, again too, and shows it to all others',
    needs: ['admin', 'replays'],
    async run({ store, secondStore }) {
      const [first, second] = [ledgerOf(store), ledgerOf(await secondStore())]
      const [id, mine] = [newName(), taking()]
      expect(await first.read(SCOPE, id)).toBe(undefined)
      expect(await first.take(SCOPE, id, mine)).toEqual({ verdict: 'taken', state: STATE })
      expect(await first.take(SCOPE, id, { ...mine, state: 'another' })).toEqual({ verdict: 'taken', state: STATE })
      const answer = await second.take(SCOPE, id, taking({ state: 'another' }))
      expect([answer.verdict, answer.state]).toEqual(['held', STATE])
      const leftMs = answer.verdict === 'held' ? answer.leftMs : 0
      expect(leftMs > 0 && leftMs <= LONG_MS).toBe(true)
      const entry = await second.read(SCOPE, id)
      expect([entry?.id, entry?.state, entry?.request]).toEqual([id, STATE, undefined])
      expect((entry?.heldForMs ?? 0) > 0 && (entry?.createdAt ?? 0) > 0).toBe(true)
    },
  },
  {
    name: 'gives a replay to exactly one of many owners that take it at once',
    needs: ['admin', 'replays'],
    async run({ store, secondStore }) {
      const ledgers = [ledgerOf(store), ledgerOf(await secondStore())]
      const id = newName()
      const taken = await Promise.all(
        Array.from({ length: 10 }, (_, at) =>
          (ledgers[at % 2] ?? ledgerOf(store)).take(SCOPE, id, taking({ state: `of ${at}` })),
        ),
      )
      expect(taken.filter((answer) => answer?.verdict === 'taken').length).toBe(1)
      const states = new Set(taken.map((answer) => answer?.state))
      expect(states.size).toBe(1)
    },
  },
  {
    name: 'saves for the owner only, and keeps the state of a replay that its owner left',
    needs: ['admin', 'replays'],
    async run({ store, secondStore }) {
      const [first, second] = [ledgerOf(store), ledgerOf(await secondStore())]
      const [id, mine, theirs] = [newName(), taking(), taking({ state: 'theirs' })]
      expect(await second.save(SCOPE, id, theirs)).toEqual({ held: false })
      expect(await second.read(SCOPE, id)).toBe(undefined)
      await first.take(SCOPE, id, mine)
      expect(await first.save(SCOPE, id, { ...mine, state: 'saved' })).toEqual(HELD)
      expect(await second.save(SCOPE, id, theirs)).toEqual({ held: false })
      await second.leave(SCOPE, id, theirs.owner)
      expect((await second.take(SCOPE, id, theirs)).verdict).toBe('held')
      await first.leave(SCOPE, id, mine.owner)
      expect(await first.save(SCOPE, id, mine)).toEqual({ held: false })
      const left = await second.read(SCOPE, id)
      expect([left?.state, left?.heldForMs]).toEqual(['saved', 0])
      expect(await second.take(SCOPE, id, theirs)).toEqual({ verdict: 'taken', state: 'saved' })
      expect(await first.save(SCOPE, id, mine)).toEqual({ held: false })
      expect((await first.read(SCOPE, id))?.state).toBe('saved')
    },
  },
  {
    name: 'tells the owner what it was asked, until that is taken back',
    needs: ['admin', 'replays'],
    async run({ store, secondStore }) {
      const [first, second] = [ledgerOf(store), ledgerOf(await secondStore())]
      const [id, mine] = [newName(), taking()]
      expect(await second.ask(SCOPE, id, 'pause')).toBe(false)
      await first.take(SCOPE, id, mine)
      for (const request of ['pause', 'abort', undefined] as const) {
        expect(await second.ask(SCOPE, id, request)).toBe(true)
        expect((await second.read(SCOPE, id))?.request).toBe(request)
        expect(await first.save(SCOPE, id, mine)).toEqual({ held: true, request })
      }
    },
  },
  {
    name: 'keeps a request to abort for the next owner, and ends one to pause',
    needs: ['admin', 'replays'],
    async run({ store, secondStore }) {
      const [first, second] = [ledgerOf(store), ledgerOf(await secondStore())]
      for (const request of ['pause', 'abort'] as const) {
        const [id, mine, theirs] = [newName(), taking(), taking()]
        await first.take(SCOPE, id, mine)
        await second.ask(SCOPE, id, request)
        await first.take(SCOPE, id, mine)
        expect(await first.save(SCOPE, id, mine)).toEqual({ held: true, request })
        await second.take(SCOPE, id, theirs)
        expect((await second.read(SCOPE, id))?.request).toBe(request)
        await first.leave(SCOPE, id, mine.owner)
        await second.take(SCOPE, id, theirs)
        const kept = request === 'abort' ? request : undefined
        expect(await second.save(SCOPE, id, theirs)).toEqual({ held: true, request: kept })
      }
    },
  },
  {
    name: 'keeps replays apart by scope, and lists those of one scope, the newest first',
    needs: ['admin', 'replays'],
    async run({ store }) {
      const ledger = ledgerOf(store)
      const ids = [newName(), newName(), newName()]
      for (const id of ids) await ledger.take(SCOPE, id, taking({ state: id }))
      expect(await ledger.read(OTHER_SCOPE, ids[0] ?? '')).toBe(undefined)
      await ledger.take(OTHER_SCOPE, newName(), taking())
      const listed = await ledger.list(SCOPE, 1_000)
      expect(listed.map(({ id }) => id).filter((id) => ids.includes(id))).toEqual(ids.toReversed())
      expect(listed.filter(({ id, state }) => ids.includes(id) && id === state).length).toBe(3)
      expect((await ledger.list(SCOPE, 2)).length).toBe(2)
    },
  },
  {
    name: 'keeps a state of a million bytes, and refuses a longer one',
    needs: ['admin', 'replays'],
    async run({ store }) {
      const ledger = ledgerOf(store)
      const [id, mine] = [newName(), taking()]
      await ledger.take(SCOPE, id, mine)
      const state = 'é'.repeat(500_000)
      expect(await ledger.save(SCOPE, id, { ...mine, state })).toEqual(HELD)
      expect((await ledger.read(SCOPE, id))?.state === state).toBe(true)
      const refused = await ledger.save(SCOPE, id, { ...mine, state: `${state}.` }).catch((error: unknown) => error)
      expect(refused instanceof Error && 'code' in refused ? refused.code : undefined).toBe('STORE_MISUSED')
    },
  },
  {
    name: 'lets another owner take a replay whose hold has ended, and the former one save nothing more',
    needs: ['admin', 'replays'],
    async run(harness) {
      const [first, second] = [ledgerOf(harness.store), ledgerOf(await harness.secondStore())]
      const [id, mine, theirs] = [newName(), taking({ ttlMs: SHORT_MS }), taking({ state: 'theirs' })]
      await first.take(SCOPE, id, mine)
      await holdEnds(harness, async () => (await second.take(SCOPE, id, theirs)).verdict === 'taken')
      expect((await second.read(SCOPE, id))?.state).toBe(STATE)
      expect(await first.save(SCOPE, id, { ...mine, state: 'late' })).toEqual({ held: false })
      expect(await second.save(SCOPE, id, theirs)).toEqual(HELD)
      expect((await first.read(SCOPE, id))?.state).toBe('theirs')
    },
  },
]

async function holdEnds(harness: StoreHarness, isTaken: () => Promise<boolean>): Promise<void> {
  const lease = harness as LeaseHarness
  await lease.advance?.(SHORT_MS)
  await until(lease, 'a replay that another owner may take', isTaken)
}

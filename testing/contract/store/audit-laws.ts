import { expect } from '../expect.ts'
import type { AuditEntry } from '../../../src/ports/replay.ts'
import type { AuditPage, AuditQuery } from '../../../src/ports/store-admin.ts'
import { adminOf, expectRun, stateOf, WHY } from './admin-laws.ts'
import { claim, hold, newItem, SCOPE } from './claims.ts'
import { ALONE, REFUND, given } from './given.ts'
import type { StoreLaw } from './harness.ts'

/** Imports, and what the audit shows of all decisions. */
export const auditLaws: readonly StoreLaw[] = [
  {
    name: 'imports what has no record as done, for every payload, and nothing else',
    needs: ['admin', 'import'],
    async run({ store, secondStore }) {
      const absent = newItem()
      const [done, parked, givenUp] = await given(store, 'done', 'parked', 'given-up')
      const keys = [parked, absent, done, givenUp].map(({ key }) => key)
      const admin = adminOf(await secondStore())
      expect(await admin.import?.(SCOPE, keys, WHY)).toEqual(['refused', 'decided', 'already', 'refused'])
      expect(await admin.import?.(SCOPE, keys, WHY)).toEqual(['refused', 'already', 'already', 'refused'])
      expect(await claim(store, absent)).toMatchObject({ verdict: 'done' })
      expect(await claim(store, newItem({ key: absent.key }))).toMatchObject({ verdict: 'done' })
      expect(await stateOf(store, parked)).toBe('parked')
      expect(await admin.forget(SCOPE, [absent.key], WHY)).toEqual(['decided'])
      await expectRun(store, absent)
    },
  },
  {
    name: 'imports many keys at once, and lets those run whose import it refused',
    needs: ['admin', 'import'],
    async run({ store }) {
      const items = Array.from({ length: 500 }, () => newItem())
      const [tried] = await given(store, 'released')
      const keys = [tried, ...items].map(({ key }) => key)
      const verdicts = await adminOf(store).import?.(SCOPE, keys, WHY)
      expect(verdicts).toEqual(['refused', ...items.map(() => 'decided')])
      const views = await adminOf(store).peek(SCOPE, keys)
      expect(views.filter(({ state }) => state === 'done').length).toBe(items.length)
      const again = await hold(store, tried, ALONE)
      expect(again.attempt).toBe(2)
      await store.release([again.claim], REFUND)
    },
  },
  {
    name: 'shows decisions with who, why and the state before, the newest first',
    needs: ['admin', 'audit'],
    async run({ store, secondStore }) {
      const [item, other] = await given(store, 'parked', 'given-up')
      const admin = adminOf(store)
      await admin.resolve(SCOPE, [item.key], { ...WHY, as: 'done' })
      await admin.resolve(SCOPE, [item.key], { ...WHY, as: 'done' })
      await admin.reopen(SCOPE, [other.key], { ...WHY, by: 'another' })
      await admin.forget(SCOPE, [item.key], WHY)
      const page = await adminOf(await secondStore()).audit?.(SCOPE, { limit: 100 })
      const own = page?.entries.filter(({ key }) => key === item.key || key === other.key) ?? []
      expect(own.map(({ key, decision, before }) => [key, decision, before])).toEqual([
        [item.key, 'forget', 'done'],
        [other.key, 'reopen', 'given-up'],
        [item.key, 'done', 'parked'],
      ])
      expect(own.map(({ by, reason }) => [by, reason])).toEqual([
        [WHY.by, WHY.reason],
        ['another', WHY.reason],
        [WHY.by, WHY.reason],
      ])
      expect(own.every(({ at }) => at > 0)).toBe(true)
    },
  },
  {
    name: 'shows the decisions about one key, page by page, each once',
    needs: ['admin', 'audit', 'import'],
    async run({ store }) {
      const [item, other] = [newItem(), newItem()]
      const admin = adminOf(store)
      await admin.import?.(SCOPE, [item.key, other.key], WHY)
      for (let again = 0; again < 2; again++) {
        await admin.forget(SCOPE, [item.key, other.key], WHY)
        const { claim: claimed } = await hold(store, item)
        await store.mark([claimed])
      }
      const all = await pagesOf((after) => admin.audit?.(SCOPE, { limit: 2, after }))
      const mine = all.filter(({ key }) => key === item.key)
      expect(mine.map(({ decision, before }) => [decision, before])).toEqual([
        ['forget', 'done'],
        ['forget', 'done'],
        ['import', 'absent'],
      ])
      expect(new Set(all.map(({ id }) => id)).size).toBe(all.length)
      expect(await pagesOf((after) => admin.audit?.(SCOPE, { key: item.key, limit: 1, after }))).toEqual(mine)
    },
  },
  {
    name: 'pages through 1,500 decisions, each once, the newest first',
    needs: ['admin', 'audit', 'import'],
    async run({ store }) {
      const admin = adminOf(store)
      const scope = `${SCOPE}-${newItem().key}`
      const keys = Array.from({ length: 1_500 }, () => newItem().key)
      for (let at = 0; at < keys.length; at += 100) await admin.import?.(scope, keys.slice(at, at + 100), WHY)
      const all = await pagesOf((after) => admin.audit?.(scope, { limit: 50, after }))
      expect(all.length).toBe(keys.length)
      expect(new Set(all.map(({ key }) => key))).toEqual(new Set(keys))
      // Those of one call may have any order.
      const calls = all.map(({ key }) => Math.floor(keys.indexOf(key) / 100))
      expect(calls).toEqual(calls.toSorted((one, other) => other - one))
    },
  },
  {
    name: 'shows what one person did, one kind of decision, and those of some time',
    needs: ['admin', 'audit', 'import'],
    async run({ store }) {
      const admin = adminOf(store)
      const scope = `${SCOPE}-${newItem().key}`
      const [first, second] = [newItem().key, newItem().key]
      await admin.import?.(scope, [first], { ...WHY, by: 'ana' })
      await admin.forget(scope, [first], { ...WHY, by: 'ben' })
      await admin.import?.(scope, [second], { ...WHY, by: 'Ana' })
      const [newest] = (await admin.audit?.(scope, { limit: 1 }))?.entries ?? []
      const at = newest?.at ?? 0
      const told = async (which: Omit<AuditQuery, 'limit'>): Promise<readonly string[]> => {
        const entries = await pagesOf((after) => admin.audit?.(scope, { ...which, limit: 1, after }))
        return entries.map(({ by, decision }) => `${by} ${decision}`)
      }
      expect(await told({ by: 'ana' })).toEqual(['ana import'])
      expect(await told({ decision: 'import' })).toEqual(['Ana import', 'ana import'])
      expect(await told({ decision: 'forget', by: 'ben', key: first })).toEqual(['ben forget'])
      expect(await told({ decision: 'forget', by: 'ben', key: second })).toEqual([])
      expect(await told({ by: "ana' or '1'='1" })).toEqual([])
      expect(await told({ since: at + 1 })).toEqual([])
      expect((await told({ since: at }))[0]).toBe('Ana import')
      expect(await told({ until: at + 1 })).toHaveLength(3)
      expect(await told({ until: at - 60_000 })).toEqual([])
    },
  },
  {
    name: 'keeps a note of what a person did beside the records, with who and why, in its scope only',
    needs: ['admin', 'audit', 'notes'],
    async run({ store, secondStore }) {
      const admin = adminOf(store)
      const known = await admin.knownSince?.(SCOPE)
      const reason = `OPS-812: "the provider's" queue is full; \\ 50 % {late} \n é 😀`
      await admin.note?.(SCOPE, { what: 'pause', about: 'consumer', by: 'ana', reason })
      await admin.note?.(`${SCOPE}-of-another`, { what: 'pause', about: 'consumer', by: 'otto', reason })
      expect(await admin.knownSince?.(SCOPE)).toEqual(known)
      const [item] = await given(store, 'parked')
      await admin.resolve(SCOPE, [item.key], { ...WHY, as: 'done' })
      const other = adminOf(await secondStore())
      await other.note?.(SCOPE, { what: 'abort', about: 'replay 7f3a91c2', by: 'ben', reason: 'wrong range' })
      const all = await pagesOf((after) => other.audit?.(SCOPE, { limit: 1, after }))
      expect(new Set(all.map(({ id }) => id)).size).toBe(all.length)
      expect(all.filter(({ by }) => by === 'otto')).toEqual([])
      const own = all.filter(({ key, about }) => about !== undefined || key === item.key)
      expect(own.map(({ key, decision, by, before, about }) => [key, decision, by, before, about])).toEqual([
        ['', 'abort', 'ben', '', 'replay 7f3a91c2'],
        [item.key, 'done', WHY.by, 'parked', undefined],
        ['', 'pause', 'ana', '', 'consumer'],
      ])
      expect(own.map((entry) => entry.reason)).toEqual(['wrong range', WHY.reason, reason])
      expect(own.every(({ at }) => at > 0)).toBe(true)
      const ofItem = await other.audit?.(SCOPE, { key: item.key, limit: 10 })
      expect(ofItem?.entries.map(({ decision }) => decision)).toEqual(['done'])
    },
  },
]

async function pagesOf(
  ask: (after: string | undefined) => Promise<AuditPage> | undefined,
): Promise<readonly AuditEntry[]> {
  const all: AuditEntry[] = []
  for (let after: string | undefined; ;) {
    const page = await ask(after)
    all.push(...(page?.entries ?? []))
    after = page?.next
    if (after === undefined) return all
  }
}

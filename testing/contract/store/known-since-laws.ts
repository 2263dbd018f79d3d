import { expect } from '../expect.ts'
import type { KnownSince } from '../../../src/ports/store-admin.ts'
import type { ClaimItem, Store } from '../../../src/ports/store.ts'
import { adminOf, WHY } from './admin-laws.ts'
import { hold, type HowToClaim, newItem, newName, SCOPE, SHORT_RETENTION_MS, until } from './claims.ts'
import { REFUND } from './given.ts'
import type { LeaseHarness, StoreLaw } from './harness.ts'

/** Since when absence of a record proves something. */
export const knownSinceLaws: readonly StoreLaw[] = [
  {
    name: 'tells nobody that it knows a scope before its first claim, and not more than since that',
    needs: ['admin', 'known-since'],
    async run({ store, secondStore }) {
      const { admin } = await secondStore()
      const scope = newScope()
      await admin?.peek(scope, [newItem().key])
      expect(await admin?.knownSince?.(scope)).toBe(undefined)
      await release(store, await claimIn(store, scope))
      const known = await admin?.knownSince?.(scope)
      expect((known?.at ?? 0) > 0 && (known?.because ?? '') !== '').toBe(true)
      await release(store, await claimIn(store, scope))
      expect(await since(store, scope)).toEqual(known)
    },
  },
  {
    name: 'knows its scope since before it was asked, by one clock for all processes',
    needs: ['admin', 'known-since'],
    async run({ store, secondStore }) {
      await release(store, (await hold(store, newItem())).claim)
      const [mine, theirs] = [await since(store, SCOPE), await since(await secondStore(), SCOPE)]
      expect(mine === undefined).toBe(false)
      expect(mine).toEqual(theirs)
    },
  },
  {
    name: 'knows a scope since its first import, and not more than since its first claim by an import after that',
    needs: ['admin', 'known-since', 'import'],
    async run({ store, secondStore }) {
      const admin = adminOf(await secondStore())
      const [imported, claimed] = [newScope(), newScope()]
      await admin.import?.(imported, [newItem().key], WHY)
      const first = await since(store, imported)
      expect((first?.at ?? 0) > 0).toBe(true)
      await admin.import?.(imported, [newItem().key], WHY)
      await release(store, await claimIn(store, imported))
      expect(await since(store, imported)).toEqual(first)

      await release(store, await claimIn(store, claimed))
      const before = await since(store, claimed)
      expect((before?.at ?? 0) >= (first?.at ?? 0)).toBe(true)
      await admin.import?.(claimed, [newItem().key], WHY)
      expect(await since(store, claimed)).toEqual(before)
    },
  },
]

/** Records that end by themselves. */
export const leaseKnownSinceLaws: readonly StoreLaw<LeaseHarness>[] = [
  {
    name: 'knows nothing of a message whose record has ended, after retention was raised',
    needs: ['admin', 'known-since', 'retention'],
    async run(harness) {
      const { store } = harness
      const scope = newScope()
      const item = newItem()
      await store.mark([await claimIn(store, scope, { item, retentionMs: SHORT_RETENTION_MS })])
      const handled = await since(store, scope)
      await store.mark([await claimIn(store, scope)])
      await harness.advance?.(2 * SHORT_RETENTION_MS)
      await until(harness, 'a record that has ended, of a time that is not known any more', async () => {
        const [view] = (await store.admin?.peek(scope, [item.key])) ?? []
        return view?.state === 'absent' && ((await since(store, scope))?.at ?? 0) > (handled?.at ?? 0)
      })
    },
  },
]

function newScope(): string {
  return `contract/${newName()}`
}

async function since({ admin }: Store<unknown>, scope: string): Promise<KnownSince | undefined> {
  return admin?.knownSince?.(scope)
}

async function claimIn(
  store: Store<unknown>,
  scope: string,
  { item = newItem(), ...how }: HowToClaim & { readonly item?: ClaimItem } = {},
): Promise<Claimed> {
  return (await hold(store, item, { ...how, scope })).claim
}

type Claimed = Parameters<Store<unknown>['release']>[0][number]

async function release(store: Store<unknown>, claimed: Claimed): Promise<void> {
  await store.release([claimed], REFUND)
}

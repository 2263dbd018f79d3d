import { describe, it } from '@jest/globals'
import { adminLaws, leaseAdminLaws } from './admin-laws.ts'
import { commonLaws } from './common-laws.ts'
import type { Capability, InboxHarness, Law, LeaseHarness, OffsetsHarness, StoreHarness } from './harness.ts'
import { inboxAdminLaws } from './inbox-admin-laws.ts'
import { inboxLaws } from './inbox-laws.ts'
import { leaseLaws } from './lease-laws.ts'
import { offsetsLaws } from './offsets-laws.ts'
import { resultLaws } from './result-laws.ts'

export type StoreUnderContract =
  | {
      readonly strategy: 'lease'
      /** Called once for each law. */
      readonly createHarness: () => Promise<LeaseHarness>
      /** Capabilities it has not, each with the reason. */
      readonly lacks?: Lacks
    }
  | {
      readonly strategy: 'inbox'
      readonly createHarness: () => Promise<InboxHarness>
      readonly lacks?: Lacks
    }
  | {
      readonly strategy: 'offsets'
      /** Its stores take each key for a stream of one message where a law gives no position. */
      readonly createHarness: () => Promise<OffsetsHarness>
      readonly lacks?: Lacks
    }

type Lacks = { readonly [C in Capability]?: string }

/** The one suite every store must pass: each law on data of its own, all told apart from `transition()` by nothing. */
export function describeStoreContract(name: string, store: StoreUnderContract): void {
  const { createHarness, lacks } = store
  describe(`${name} keeps the contract of a store`, () => {
    describeLaws('of any strategy', [...commonLaws, ...resultLaws, ...adminLaws], createHarness, lacks)
    switch (store.strategy) {
      case 'lease':
        describeLaws('about what is decided of a lease', leaseAdminLaws, store.createHarness, lacks)
        describeLaws('with a lease', leaseLaws, store.createHarness, lacks)
        break
      case 'inbox':
        describeLaws('about what is decided of an inbox', inboxAdminLaws, store.createHarness, lacks)
        describeLaws('with an inbox', inboxLaws, store.createHarness, lacks)
        break
      case 'offsets':
        describeLaws('with a transaction, as an inbox', inboxLaws, store.createHarness, lacks)
        describeLaws('with positions', offsetsLaws, store.createHarness, lacks)
        break
    }
  })
}

/** Runs one law on a harness of its own. Rejects where the store breaks it. */
export async function assertLaw<H extends StoreHarness>(law: Law<H>, createHarness: () => Promise<H>): Promise<void> {
  const harness = await createHarness()
  try {
    await law.run(harness)
  } finally {
    await harness.close()
  }
}

function describeLaws<H extends StoreHarness>(
  title: string,
  laws: readonly Law<H>[],
  createHarness: () => Promise<H>,
  lacks: Lacks = {},
): void {
  describe(`laws ${title}`, () => {
    for (const law of laws) {
      const reason = law.needs === undefined ? undefined : lacks[law.needs]
      // oxlint-disable-next-line jest/expect-expect, jest/valid-title -- the law expects, and is its own title
      if (reason === undefined) it(law.name, () => assertLaw(law, createHarness))
      // oxlint-disable-next-line jest/expect-expect, jest/no-disabled-tests -- declared, with its reason
      else it.skip(`${law.name} (not here: ${reason})`, () => {})
    }
  })
}

import type { Store } from '../../../src/ports/store.ts'
import { checkSuite } from '../check-suite.ts'
import { describeLaws, needsOf, type Runner } from '../law.ts'
import { adminLaws, leaseAdminLaws } from './admin-laws.ts'
import { auditLaws } from './audit-laws.ts'
import { commonLaws } from './common-laws.ts'
import type { Capability, InboxHarness, LeaseHarness, OffsetsHarness, StoreHarness, StoreLaw } from './harness.ts'
import { inboxAdminLaws } from './inbox-admin-laws.ts'
import { inboxLaws } from './inbox-laws.ts'
import { tornLaws } from './inbox-torn-laws.ts'
import { leaseScopeLaws, scopeLaws } from './scope-laws.ts'
import { savepointLaws } from './savepoint-laws.ts'
import { keysAsStreams } from './keys-as-streams.ts'
import { knownSinceLaws, leaseKnownSinceLaws } from './known-since-laws.ts'
import { leaseLaws } from './lease-laws.ts'
import { markTimeLaws } from './mark-time-laws.ts'
import { offsetsLaws } from './offsets-laws.ts'
import { replayLaws } from './replay-laws.ts'
import { recordLaws } from './record-laws.ts'
import { resultLaws } from './result-laws.ts'

export type StoreUnderContract =
  | {
      readonly strategy: 'lease'
      /** Called once for each law. */
      readonly createHarness: () => Promise<LeaseHarness>
      /** Capabilities that the store lacks, each with the reason. */
      readonly lacks?: Lacks
    }
  | {
      readonly strategy: 'inbox'
      readonly createHarness: () => Promise<InboxHarness>
      readonly lacks?: Lacks
    }
  | {
      readonly strategy: 'offsets'
      readonly createHarness: () => Promise<OffsetsHarness>
      readonly lacks?: Lacks
    }

type Lacks = { readonly [C in Capability]?: string }

interface LawsOf {
  readonly lease: readonly StoreLaw<LeaseHarness>[]
  readonly inbox: readonly StoreLaw<InboxHarness>[]
  readonly offsets: readonly StoreLaw<OffsetsHarness>[]
}

const OF_EVERY_STORE: readonly StoreLaw[] = [
  ...commonLaws,
  ...resultLaws,
  ...adminLaws,
  ...scopeLaws,
  ...auditLaws,
  ...replayLaws,
  ...knownSinceLaws,
]

/** The laws for each strategy: no call may distinguish the store from `transition()`, or from `claimStream()`. */
export const storeLaws: LawsOf = {
  lease: [...OF_EVERY_STORE, ...leaseAdminLaws, ...leaseScopeLaws, ...leaseKnownSinceLaws, ...leaseLaws],
  inbox: [
    ...OF_EVERY_STORE,
    ...inboxAdminLaws,
    ...inboxLaws,
    ...recordLaws,
    ...markTimeLaws,
    ...tornLaws,
    ...savepointLaws,
  ],
  offsets: [...OF_EVERY_STORE, ...inboxLaws, ...offsetsLaws, ...tornLaws],
}

/**
 * Defines the suite that every store must pass. Each law has data of its own.
 * @throws ConfigError `CONFIG_INVALID` for an unknown strategy, name or capability, or one without a reason
 */
export function describeStoreContract(name: string, store: StoreUnderContract, runner: Runner): void {
  const title = `${name} keeps the contract of a store`
  checkSuite(name, store, { capabilities: capabilities(), strategies: Object.keys(storeLaws) })
  switch (store.strategy) {
    case 'lease':
      return describeLaws(title, suiteOf(storeLaws.lease, store), runner)
    case 'inbox':
      return describeLaws(title, suiteOf(storeLaws.inbox, store), runner)
    case 'offsets':
      return describeLaws(title, suiteOf(storeLaws.offsets, store), runner)
  }
}

/** Runs one law on a harness of its own. Rejects if the store breaks the law. */
export async function assertStoreLaw<H extends StoreHarness>(
  law: StoreLaw<H>,
  createHarness: () => Promise<H>,
): Promise<void> {
  const harness = await createHarness()
  try {
    await law.run(harness.store.strategy === 'offsets' ? onStreams(harness) : harness)
  } finally {
    await harness.close()
  }
}

function suiteOf<H extends StoreHarness>(
  laws: readonly StoreLaw<H>[],
  { createHarness, lacks = {} }: { readonly createHarness: () => Promise<H>; readonly lacks?: Lacks },
): Parameters<typeof describeLaws<H, Capability>>[1] {
  return { laws, lacks, keep: (law) => assertStoreLaw(law, createHarness) }
}

/** Most laws use keys only. */
function onStreams<H extends StoreHarness>(harness: H): H {
  const secondStore = async (): Promise<Store<unknown>> => keysAsStreams(await harness.secondStore())
  return { ...harness, store: keysAsStreams(harness.store), secondStore }
}

function capabilities(): readonly Capability[] {
  const { lease, inbox, offsets } = storeLaws
  return [...new Set([...lease, ...inbox, ...offsets].flatMap<Capability>(needsOf))]
}

import { claimLaws } from './inbox-claim-laws.ts'
import { effectLaws } from './inbox-effect-laws.ts'
import { inboxResultLaws } from './inbox-result-laws.ts'
import type { InboxHarness, StoreLaw } from './harness.ts'

/** Laws for stores whose claim is an open transaction and whose mark is its COMMIT. */
export const inboxLaws: readonly StoreLaw<InboxHarness>[] = [...effectLaws, ...claimLaws, ...inboxResultLaws]

import { claimLaws } from './inbox-claim-laws.ts'
import { effectLaws } from './inbox-effect-laws.ts'
import { inboxResultLaws } from './inbox-result-laws.ts'
import type { InboxHarness, StoreLaw } from './harness.ts'

/** What holds where a claim is an open transaction, and its mark the COMMIT. */
export const inboxLaws: readonly StoreLaw<InboxHarness>[] = [...effectLaws, ...claimLaws, ...inboxResultLaws]

import type { LeaseHarness, StoreLaw } from './harness.ts'
import { claimLaws } from './lease-claim-laws.ts'
import { endingLaws } from './lease-ending-laws.ts'
import { markLaws } from './lease-mark-laws.ts'
import { markTimeLaws } from './mark-time-laws.ts'
import { leaseRecordLaws, recordLaws } from './record-laws.ts'
import { retentionLaws } from './lease-retention-laws.ts'

/** Laws for stores whose claim holds until a time. */
export const leaseLaws: readonly StoreLaw<LeaseHarness>[] = [
  ...claimLaws,
  ...markLaws,
  ...endingLaws,
  ...retentionLaws,
  ...recordLaws,
  ...markTimeLaws,
  ...leaseRecordLaws,
]

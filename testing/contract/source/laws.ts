import { deadLetterLaws } from './dead-letter-laws.ts'
import { deliveryLaws } from './delivery-laws.ts'
import type { SourceLaw } from './harness.ts'
import { intakeLaws } from './intake-laws.ts'
import { settleLaws } from './settle-laws.ts'
import { standingLaws } from './standing-laws.ts'
import { stopLaws } from './stop-laws.ts'

/** Run them on a real server if there is one. */
export const sourceLaws: readonly SourceLaw[] = [
  ...deliveryLaws,
  ...settleLaws,
  ...deadLetterLaws,
  ...standingLaws,
  ...intakeLaws,
  ...stopLaws,
]

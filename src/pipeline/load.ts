import type { Health } from '../ports/health.ts'

/** What is under way in a pipeline. */
export type Load = Pick<Health, 'inFlight' | 'claimed' | 'slots' | 'limited' | 'oldestLimitedMs' | 'oldestUnfinishedMs'>

export const NO_LOAD: Load = { inFlight: 0, claimed: 0, slots: 0, oldestUnfinishedMs: 0 }

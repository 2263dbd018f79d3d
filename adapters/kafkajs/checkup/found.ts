import type { CheckFinding } from '../../../src/spi.ts'

export type Found = Omit<CheckFinding, 'check'>

/** A finding without the name of its check. */
export const holds = (found: string): Found => ({ verdict: 'holds', found, meaning: '' })
export const weaker = (found: string, meaning: string): Found => ({ verdict: 'weaker', found, meaning })
export const broken = (found: string, meaning: string): Found => ({ verdict: 'broken', found, meaning })
export const unknown = (found: string, meaning: string): Found => ({ verdict: 'unknown', found, meaning })

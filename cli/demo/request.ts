import type { SourceName } from './brokers.ts'
import type { StoreName } from './stores.ts'

export const KILL_STEPS = ['claimed', 'handled', 'marked', 'settled'] as const
export type KillStep = (typeof KILL_STEPS)[number]

/** The checked options of the demo. */
export interface DemoRequest {
  /** A file of envelopes, `-` for standard input; `undefined`: the SMS example. */
  readonly input: string | undefined
  readonly source: SourceName
  readonly store: StoreName
  /** The folder for all files of this demo. */
  readonly state: string
  readonly json: boolean
  readonly effects: string | undefined
  readonly killAt: { readonly step: KillStep; readonly count: number } | undefined
  readonly onInDoubt: 'rerun' | 'park'
}

import type { KillAt } from './kill-switch.ts'

export type SourceName = 'memory' | 'kafka' | 'rabbitmq'
export type StoreName = 'memory' | 'pglite' | 'postgres' | 'redis'

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
  readonly killAt: KillAt | undefined
  readonly onInDoubt: 'rerun' | 'park'
}

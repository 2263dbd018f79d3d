import type { EpochMs } from '../core/units.ts'
import type { Checkpoint } from '../ports/replay.ts'
import { REPLAY_OUTCOMES, type ReplayOutcome } from './journal.ts'
import type { ReplayPlan } from './plan.ts'

/** `running` in the state of a replay that nobody holds: its process died, and it can be resumed. */
export type RunStatus = 'running' | 'paused' | 'aborted' | 'finished'

export type Totals = Readonly<Record<ReplayOutcome, number>>

/** What the ledger keeps of a replay. */
export interface RunState {
  readonly schema_version: 1
  readonly plan: ReplayPlan
  readonly status: RunStatus
  /** Why it paused or was aborted. */
  readonly because?: string | undefined
  readonly by: string
  readonly reason: string
  readonly startedAt: EpochMs
  readonly endedAt?: EpochMs | undefined
  /** Up to here every message is in the journal. */
  readonly checkpoint: Checkpoint
  /** Up to `bytes` the journal has only messages below the checkpoint, with these totals. */
  readonly journal: { readonly name: string; readonly bytes: number; readonly totals: Totals }
  /** Totals of the whole journal. */
  readonly totals: Totals
}

export const NO_TOTALS: Totals = Object.fromEntries(REPLAY_OUTCOMES.map((name) => [name, 0])) as unknown as Totals

/** Why a replay paused or was aborted. */
export const ASKED = 'a person asked for it'

export function accounted(totals: Totals): number {
  return Object.values(totals).reduce((sum, count) => sum + count, 0)
}

export type RunEvent =
  | { readonly event: 'begin' }
  | { readonly event: 'pause' | 'abort'; readonly because: string; readonly at: EpochMs }
  | { readonly event: 'end'; readonly at: EpochMs }

/** What a replay and a redrive have in common. */
export type Moving = Pick<RunState, 'status' | 'because' | 'endedAt'>

/** The only function that moves a replay or a redrive. `undefined`: it is over, and cannot go on. */
export function moved<State extends Moving>(state: State, event: RunEvent): State | undefined {
  if (state.status === 'finished' || state.status === 'aborted') return undefined
  switch (event.event) {
    case 'begin':
      return { ...state, status: 'running', because: undefined, endedAt: undefined }
    case 'pause':
      return { ...state, status: 'paused', because: event.because, endedAt: event.at }
    case 'abort':
      return { ...state, status: 'aborted', because: event.because, endedAt: event.at }
    case 'end':
      return { ...state, status: 'finished', because: undefined, endedAt: event.at }
  }
}

/** Messages of the plan that are not in the journal yet. */
export function leftOf({ plan, totals }: Pick<RunState, 'plan' | 'totals'>): number {
  return Math.max(0, plan.total - accounted(totals))
}

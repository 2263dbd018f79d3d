import type { Consumer } from '../consumer/define-consumer.ts'
import type { Decider } from '../people/decider.ts'
import type { LedgerEntry } from '../ports/replay.ts'
import type { Subscription } from '../ports/subscription.ts'
import type { ReplayJournal } from './journal.ts'
import { begunOf, standingOf, type Standing } from './begun.ts'
import type { RedriveEntry, RedriveState } from './redrive-record.ts'

/** A redrive, as the store knows it. One that `died`: redrive again, what was sent back is done, or waits. */
export type RedriveStatus = Omit<RedriveState, 'schema_version' | 'kind' | keyof Standing> & Standing

/** What people do with redrives that were begun. */
export interface Redrives {
  /** The newest first. */
  list(limit?: number): Promise<readonly RedriveStatus[]>
  /** @throws ReplayError `REPLAY_REFUSED` if there is none */
  status(id: string): Promise<RedriveStatus>
  /**
   * Ends it after the dead letters that it is at. What is left stays where it is, for another redrive. Only a paused one can go on with
   * the same `foreseen`.
   */
  pause(id: string, why?: Decider): Promise<RedriveStatus>
  abort(id: string, why?: Decider): Promise<RedriveStatus>
}

/** @throws ConfigError `CONFIG_INVALID` if the store does not keep replays */
export function redrivesOf(consumer: Consumer, subscription: Subscription): Redrives {
  const { list, status, pause, abort } = begunOf<RedriveStatus>(consumer, subscription, {
    what: 'redrive',
    isOne: isRedrive,
    statusOf,
    about: (id) => id,
  })
  return { list, status, pause, abort }
}

/** The other entries of redrives keep others from the same place, and have no status. */
function isRedrive({ state }: LedgerEntry): boolean {
  const { kind, status } = JSON.parse(state) as Partial<RedriveState>
  return kind === 'redrive' && status !== undefined
}

function statusOf(entry: LedgerEntry): RedriveStatus {
  const { schema_version: _, kind: _kind, ...state } = JSON.parse(entry.state) as RedriveState
  return { ...state, ...standingOf(entry, state) }
}

/** Each dead letter that a redrive looked at, in order. After a crash the last ones may be missing. */
export async function* redriveEntriesOf(journal: ReplayJournal): AsyncIterable<RedriveEntry> {
  for await (const line of journal.read()) yield JSON.parse(line) as RedriveEntry
}

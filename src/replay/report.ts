import type { Decider } from '../people/decider.ts'
import type { Consumer } from '../consumer/define-consumer.ts'
import { replayAbout } from '../people/note.ts'
import type { LedgerEntry } from '../ports/replay.ts'
import type { Subscription } from '../ports/subscription.ts'
import type { JournalEntry, JournalIntent, ReplayJournal } from './journal.ts'
import { begunOf, standingOf, type Standing } from './begun.ts'
import { isRedriveId } from './redrive-id.ts'
import { leftOf, type RunState, type Totals } from './run-state.ts'

/** A replay, as the store knows it. One that `died` can be resumed. */
export interface ReplayStatus extends Standing {
  readonly id: string
  readonly consumer: string
  readonly from: string
  readonly of: number
  readonly totals: Totals
  /** Messages that are not accounted for. */
  readonly left: number
  readonly by: string
  readonly reason: string
  readonly startedAt: number
  readonly endedAt: number | undefined
  readonly journal: string
}

/** What people do with replays that were begun. */
export interface Replays {
  /** The newest first. Redrives are those of `redrivesOf`. */
  list(limit?: number): Promise<readonly ReplayStatus[]>
  /** @throws ReplayError `REPLAY_REFUSED` if there is none */
  status(id: string): Promise<ReplayStatus>
  /** The state of a replay, with its plan: what `runReplay` needs to resume it. */
  state(id: string): Promise<RunState>
  /**
   * Pauses it, or ends it for good: an aborted one cannot be resumed. If a process runs it, that is asked: it ends running handlers, then
   * `runReplay` resolves. If it has died before it saw that, nobody resumes what was to abort. Returns what it is now: `paused` or
   * `aborted`, or `running` with the request.
   *
   * @param why - who asks and why, for the audit, where the store keeps notes
   */
  pause(id: string, why?: Decider): Promise<ReplayStatus>
  abort(id: string, why?: Decider): Promise<ReplayStatus>
}

/** @throws ConfigError `CONFIG_INVALID` if the store does not keep replays */
export function replaysOf(consumer: Consumer, subscription: Subscription): Replays {
  const { read, list, status, pause, abort } = begunOf<ReplayStatus>(consumer, subscription, {
    what: 'replay',
    isOne: ({ id }) => !isRedriveId(id),
    statusOf,
    about: replayAbout,
  })
  return { list, status, state: async (id) => stateOf(await read(id)), pause, abort }
}

function stateOf({ state }: LedgerEntry): RunState {
  return JSON.parse(state) as RunState
}

function statusOf(entry: LedgerEntry): ReplayStatus {
  const state = stateOf(entry)
  const { plan, totals, by, reason, startedAt, endedAt, journal } = state
  return {
    id: plan.id,
    consumer: plan.consumer,
    from: plan.from,
    of: plan.total,
    totals,
    left: leftOf(state),
    by,
    reason,
    startedAt,
    endedAt,
    journal: journal.name,
    ...standingOf(entry, state),
  }
}

/** Each message of a replay that is accounted for, once, in the order in which it ended. */
export async function* entriesOf(journal: ReplayJournal): AsyncIterable<JournalEntry> {
  for await (const line of journal.read()) {
    const entry = JSON.parse(line) as JournalEntry | JournalIntent
    if (!('intends' in entry)) yield entry
  }
}

import type { Decider } from '../people/decider.ts'
import { definitionOf, type Consumer } from '../consumer/define-consumer.ts'
import { ofRead } from '../people/of-read.ts'
import { replayAbout } from '../people/note.ts'
import type { LedgerEntry, ReplayRequest } from '../ports/replay.ts'
import type { Subscription } from '../ports/subscription.ts'
import type { JournalEntry, JournalIntent, ReplayJournal } from './journal.ts'
import { askIn } from './ask.ts'
import { refused, ReplayedConsumer } from './place.ts'
import { isRedriveId } from './redrive-id.ts'
import { accounted, ASKED, type RunState, type RunStatus, type Totals } from './run-state.ts'

const MOST_LISTED = 100
/** A ledger has replays and redrives. */
const MOST_READ = 500

/** A replay, as the store knows it. */
export interface ReplayStatus {
  readonly id: string
  /** `died`: it says that it runs, but no process holds it; resume it. */
  readonly status: RunStatus | 'died'
  readonly because: string | undefined
  readonly consumer: string
  readonly from: string
  readonly of: number
  readonly totals: Totals
  /** Messages that are not accounted for. */
  readonly left: number
  readonly by: string
  readonly reason: string
  readonly startedAt: number
  readonly savedAt: number
  readonly endedAt: number | undefined
  readonly journal: string
  /** What a person asked for, which the process has not seen yet. */
  readonly request: ReplayRequest | undefined
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
  const of = new ReplayedConsumer(consumer, subscription)
  const ledger = of.ledger()
  const read = async (id: string): Promise<LedgerEntry> => {
    await definitionOf(consumer).store.open()
    const entry = await ofRead(ledger.read(of.scope, id))
    if (entry !== undefined && isReplay(entry)) return entry
    throw refused(`consumer ${consumer.name}: it has no replay ${id} that was begun`)
  }
  const ask = (id: string, request: ReplayRequest, why?: Decider): Promise<ReplayStatus> =>
    askIn<ReplayStatus>({ of, id, request, why, about: replayAbout(id), read, statusOf })
  return {
    list: async (limit = MOST_LISTED) => {
      await definitionOf(consumer).store.open()
      const all = await ofRead(ledger.list(of.scope, MOST_READ))
      return all.filter(isReplay).slice(0, limit).map(statusOf)
    },
    status: async (id) => statusOf(await read(id)),
    state: async (id) => stateOf(await read(id)),
    pause: (id, why) => ask(id, 'pause', why),
    abort: (id, why) => ask(id, 'abort', why),
  }
}

function isReplay({ id }: LedgerEntry): boolean {
  return !isRedriveId(id)
}

function stateOf({ state }: LedgerEntry): RunState {
  return JSON.parse(state) as RunState
}

function statusOf(entry: LedgerEntry): ReplayStatus {
  const { plan, status, because, totals, by, reason, startedAt, endedAt, journal } = stateOf(entry)
  const isHeld = entry.heldForMs > 0
  // Its process has died before it saw the request, and nobody may resume it.
  const isAborted = !isHeld && entry.request === 'abort' && status !== 'finished'
  return {
    id: plan.id,
    status: isAborted ? 'aborted' : status === 'running' && !isHeld ? 'died' : status,
    because: isAborted ? ASKED : because,
    consumer: plan.consumer,
    from: plan.from,
    of: plan.total,
    totals,
    left: Math.max(0, plan.total - accounted(totals)),
    by,
    reason,
    startedAt,
    savedAt: entry.savedAt,
    endedAt,
    journal: journal.name,
    request: isHeld ? entry.request : undefined,
  }
}

/** Each message of a replay that is accounted for, once, in the order in which it ended. */
export async function* entriesOf(journal: ReplayJournal): AsyncIterable<JournalEntry> {
  for await (const line of journal.read()) {
    const entry = JSON.parse(line) as JournalEntry | JournalIntent
    if (!('intends' in entry)) yield entry
  }
}

import type { Consumer } from '../consumer/define-consumer.ts'
import type { Decider } from '../people/decider.ts'
import { ofRead } from '../people/of-read.ts'
import type { LedgerEntry, ReplayRequest } from '../ports/replay.ts'
import type { Subscription } from '../ports/subscription.ts'
import type { ReplayJournal } from './journal.ts'
import { askIn } from './ask.ts'
import { refused, ReplayedConsumer } from './place.ts'
import type { RedriveEntry, RedriveState } from './redrive-record.ts'
import { ASKED, type RunStatus } from './run-state.ts'

const MOST_LISTED = 100
/** A ledger has replays and redrives. */
const MOST_READ = 500

/** A redrive, as the store knows it. */
export interface RedriveStatus extends Omit<RedriveState, 'schema_version' | 'kind' | 'status'> {
  /** `died`: it says that it runs, but no process has it. Redrive again: what was sent back is done, or waits. */
  readonly status: RunStatus | 'died'
  readonly savedAt: number
  /** What a person asked for, which the process has not seen yet. */
  readonly request: ReplayRequest | undefined
}

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
  const of = new ReplayedConsumer(consumer, subscription)
  const ledger = of.ledger()
  const read = async (id: string): Promise<LedgerEntry> => {
    await of.definition.store.open()
    const entry = await ofRead(ledger.read(of.scope, id))
    if (entry !== undefined && isRedrive(entry)) return entry
    throw refused(`consumer ${consumer.name}: it has no redrive ${id} that was begun`)
  }
  const ask = (id: string, request: ReplayRequest, why?: Decider): Promise<RedriveStatus> =>
    askIn<RedriveStatus>({ of, id, request, why, about: id, read, statusOf })
  return {
    list: async (limit = MOST_LISTED) => {
      await of.definition.store.open()
      const all = await ofRead(ledger.list(of.scope, MOST_READ))
      return all.filter(isRedrive).slice(0, limit).map(statusOf)
    },
    status: async (id) => statusOf(await read(id)),
    pause: (id, why) => ask(id, 'pause', why),
    abort: (id, why) => ask(id, 'abort', why),
  }
}

/** The other entries of redrives keep others from the same place, and have no status. */
function isRedrive({ state }: LedgerEntry): boolean {
  const { kind, status } = JSON.parse(state) as Partial<RedriveState>
  return kind === 'redrive' && status !== undefined
}

function statusOf(entry: LedgerEntry): RedriveStatus {
  const { schema_version: _, kind: _kind, ...state } = JSON.parse(entry.state) as RedriveState
  const isHeld = entry.heldForMs > 0
  const isAborted = !isHeld && entry.request === 'abort' && state.status !== 'finished'
  return {
    ...state,
    status: isAborted ? 'aborted' : state.status === 'running' && !isHeld ? 'died' : state.status,
    because: isAborted ? ASKED : state.because,
    savedAt: entry.savedAt,
    request: isHeld ? entry.request : undefined,
  }
}

/** Each dead letter that a redrive looked at, in order. After a crash the last ones may be missing. */
export async function* redriveEntriesOf(journal: ReplayJournal): AsyncIterable<RedriveEntry> {
  for await (const line of journal.read()) yield JSON.parse(line) as RedriveEntry
}

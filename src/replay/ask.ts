import { systemClock } from '../foundation/clock.ts'
import { systemEntropy } from '../foundation/entropy.ts'
import { optionsOf } from '../foundation/options.ts'
import { DECIDER, type Decider } from '../people/decider.ts'
import { noteIn } from '../people/note.ts'
import type { LedgerEntry, ReplayRequest } from '../ports/replay.ts'
import { HOLD_MS } from './hold.ts'
import { refused, type ReplayedConsumer } from './place.ts'
import { ASKED, moved, type Moving, type RunStatus } from './run-state.ts'

export interface Asking<Status> {
  readonly of: ReplayedConsumer
  readonly id: string
  readonly request: ReplayRequest
  readonly why: Decider | undefined
  /** For the note in the audit. */
  readonly about: string
  readonly read: (id: string) => Promise<LedgerEntry>
  readonly statusOf: (entry: LedgerEntry) => Status
}

/**
 * Asks the process that has a replay or a redrive. If none has it, nobody would see the request, and the state is changed here.
 *
 * @throws ReplayError `REPLAY_REFUSED` if it is over
 */
export async function askIn<Status extends { readonly status: RunStatus | 'died' }>({
  of,
  id,
  request,
  why,
  about,
  read,
  statusOf,
}: Asking<Status>): Promise<Status> {
  if (why !== undefined) optionsOf(request, DECIDER, why)
  const ledger = of.ledger()
  const entry = await read(id)
  const before = statusOf(entry)
  if (before.status === 'finished' || before.status === 'aborted') throw refused(`${about} is ${before.status}`)
  if (before.status === 'paused' && request === 'pause') return before
  // First, so that nobody stops it without a trace.
  if (why !== undefined) await noteIn(of.admin, of.scope, { what: request, about, by: why.by, reason: why.reason })
  const how = { owner: systemEntropy.ownerToken(), ttlMs: HOLD_MS }
  const taken = await ledger.take(of.scope, id, { ...how, state: entry.state })
  if (taken.verdict === 'held') {
    await ledger.ask(of.scope, id, request)
    return statusOf(await read(id))
  }
  const state = JSON.parse(taken.state) as Moving
  const next = moved(state, { event: request, because: ASKED, at: systemClock.now() })
  if (next !== undefined) await ledger.save(of.scope, id, { ...how, state: JSON.stringify(next) })
  await ledger.leave(of.scope, id, how.owner)
  if (next === undefined) throw refused(`${about} is ${state.status}`)
  return statusOf(await read(id))
}

import { systemClock } from '../foundation/clock.ts'
import { systemEntropy } from '../foundation/entropy.ts'
import { optionsOf } from '../foundation/options.ts'
import type { Consumer } from '../consumer/define-consumer.ts'
import { DECIDER, type Decider } from '../people/decider.ts'
import { noteIn } from '../people/note.ts'
import { ofRead } from '../people/of-read.ts'
import type { LedgerEntry, ReplayRequest } from '../ports/replay.ts'
import type { Subscription } from '../ports/subscription.ts'
import { HOLD_MS } from './hold.ts'
import { refused, ReplayedConsumer } from './place.ts'
import { ASKED, moved, type Moving, type RunStatus } from './run-state.ts'

const MOST_LISTED = 100
/** A ledger has replays and redrives. */
const MOST_READ = 500

/** Replays or redrives: what tells them apart in the ledger that they share. */
interface Kind<Status> {
  readonly what: 'replay' | 'redrive'
  readonly isOne: (entry: LedgerEntry) => boolean
  readonly statusOf: (entry: LedgerEntry) => Status
  /** For the note in the audit. */
  readonly about: (id: string) => string
}

/** What people do with those that were begun. */
interface Begun<Status> {
  readonly read: (id: string) => Promise<LedgerEntry>
  readonly list: (limit?: number) => Promise<readonly Status[]>
  readonly status: (id: string) => Promise<Status>
  readonly pause: (id: string, why?: Decider) => Promise<Status>
  readonly abort: (id: string, why?: Decider) => Promise<Status>
}

/** How one stands, as the ledger knows it. */
export interface Standing {
  /** `died`: it says that it runs, but no process holds it. */
  readonly status: RunStatus | 'died'
  readonly because: string | undefined
  readonly savedAt: number
  readonly request: ReplayRequest | undefined
}

export function standingOf({ heldForMs, request, savedAt }: LedgerEntry, { status, because }: Moving): Standing {
  const isHeld = heldForMs > 0
  // Its process has died before it saw the request, and nobody may resume it.
  if (!isHeld && request === 'abort' && status !== 'finished') {
    return { status: 'aborted', because: ASKED, savedAt, request: undefined }
  }
  const died = status === 'running' && !isHeld
  return { status: died ? 'died' : status, because, savedAt, request: isHeld ? request : undefined }
}

/** @throws ConfigError `CONFIG_INVALID` if the store does not keep replays */
export function begunOf<Status extends Pick<Standing, 'status'>>(
  consumer: Consumer,
  subscription: Subscription,
  { what, isOne, statusOf, about }: Kind<Status>,
): Begun<Status> {
  const of = new ReplayedConsumer(consumer, subscription)
  const ledger = of.ledger()
  const { store } = of.definition
  const read = async (id: string): Promise<LedgerEntry> => {
    await store.open()
    const entry = await ofRead(ledger.read(of.scope, id))
    if (entry !== undefined && isOne(entry)) return entry
    throw refused(`consumer ${consumer.name}: it has no ${what} ${id} that was begun`)
  }
  /**
   * Asks the process that has it. If none has it, nobody would see the request, and the state is changed here.
   *
   * @throws ReplayError `REPLAY_REFUSED` if it is over
   */
  const ask = async (id: string, request: ReplayRequest, why: Decider | undefined): Promise<Status> => {
    if (why !== undefined) optionsOf(request, DECIDER, why)
    const entry = await read(id)
    const before = statusOf(entry)
    if (before.status === 'finished' || before.status === 'aborted') throw refused(`${about(id)} is ${before.status}`)
    if (before.status === 'paused' && request === 'pause') return before
    // First, so that nobody stops it without a trace.
    if (why !== undefined) {
      await noteIn(of.admin, of.scope, { what: request, about: about(id), by: why.by, reason: why.reason })
    }
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
    if (next === undefined) throw refused(`${about(id)} is ${state.status}`)
    return statusOf(await read(id))
  }
  return {
    read,
    list: async (limit = MOST_LISTED) => {
      await store.open()
      const all = await ofRead(ledger.list(of.scope, MOST_READ))
      return all.filter(isOne).slice(0, limit).map(statusOf)
    },
    status: async (id) => statusOf(await read(id)),
    pause: (id, why) => ask(id, 'pause', why),
    abort: (id, why) => ask(id, 'abort', why),
  }
}

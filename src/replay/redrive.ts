import { hash } from 'node:crypto'
import { BY, checkDecider, REASON } from '../people/decider.ts'
import type { Consumer } from '../consumer/define-consumer.ts'
import {
  ELSEWHERE,
  flag,
  listOf,
  oneOf,
  optionsOf,
  or,
  plainText,
  where,
  whole,
  type Table,
  nowCalled,
} from '../foundation/options.ts'
import { clockOption, entropyOption } from '../foundation/system-options.ts'
import type { ReplayPublisher } from '../ports/replay.ts'
import type { Subscription } from '../ports/subscription.ts'
import { JOURNAL, problemsOfSelection, RATE, SELECTION } from './check.ts'
import { describeError } from '../foundation/errors.ts'
import type { Entropy } from '../ports/entropy.ts'
import { redriveId } from './redrive-id.ts'
import { RedriveRecord } from './redrive-record.ts'
import { ASKED, type RunEvent } from './run-state.ts'
import { existingFormerPlaces } from './former-places.ts'
import { ForeseenLetters, type Foreseen } from './foreseen.ts'
import { takeHold, type Hold } from './hold.ts'
import { startJob, type Job } from './job.ts'
import { DeadLetters, type Redriving, type Sending } from './dead-letters.ts'
import { deadLetterPlaces, ReplayedConsumer } from './place.ts'
import type {
  CheckedRedrive,
  RedriveOptions,
  RedriveProgress,
  RedriveResult,
  RedriveWithoutDefault,
} from './redrive-options.ts'

/** Dead letters that are reopened, published and settled together, at most those of a second. */
const AT_ONCE = 100

/** As a reader reads by itself. */
const MOST_AHEAD = 1_000

const TEXTS = listOf(plainText())

const REDRIVE: Table<RedriveOptions, RedriveWithoutDefault> = {
  ...SELECTION,
  by: BY,
  reason: REASON,
  dryRun: or(true, flag()),
  from: plainText(),
  destination: plainText(),
  keys: TEXTS,
  foreseen: where('that of the result of a dry run of this consumer', (value) => value instanceof ForeseenLetters),
  journal: JOURNAL,
  allowDestinations: or([], TEXTS),
  unknown: or('skip', oneOf('handle', 'skip')),
  maxReplays: or(2, whole()),
  lookAtMost: whole(),
  rate: RATE,
  clock: clockOption(),
  entropy: entropyOption(),
  [ELSEWHERE]: {
    max: nowCalled('lookAtMost'),
    places: 'give one as `from`: a redrive knows the dead-letter places of its consumer',
  },
}

/**
 * Sends dead letters back to where they came from: reopens the record, publishes the message with the same ID, body and properties,
 * waits for the confirm, and only then settles the dead letter. A crash in between leaves two copies with one ID, and so one effect. It ends
 * with the dead letters that lay in each place when it was opened. Several places are worked through one after the other.
 *
 * @throws (the result rejects) ConfigError `CONFIG_INVALID`; ReplayError `REPLAY_REFUSED`: somebody else redrives this place, or `foreseen` was used
 * @throws (the result rejects) BrokerError, StoreError: what was published until then is settled
 */
export function redrive(
  consumer: Consumer,
  subscription: Subscription,
  asked: RedriveOptions,
): Job<RedriveProgress, RedriveResult> {
  return startJob('the redrive', async (control) => {
    const of = new ReplayedConsumer(consumer, subscription)
    const options = checked(of, asked)
    const { clock, entropy, dryRun, from } = options
    const places = from === undefined ? await placesOf(of) : [from]
    const foreseen = lettersOf(options)
    const id = foreseen?.id ?? newId(entropy)
    const ctx: Redriving = { of, options, clock, places, id, foreseen }
    await of.definition.store.open()
    const stop = new AbortController()
    let event: StopEvent | undefined
    const end = (how: 'pause' | 'abort', because: string): void => {
      event ??= { event: how, because, at: clock.now() }
      stop.abort(control.signal.reason)
    }
    control.signal.addEventListener('abort', () => end('pause', 'stopped'))
    if (control.signal.aborted) end('pause', 'stopped')
    const deadLetters = new DeadLetters(ctx, await of.horizon(clock.now()), stop.signal)
    const owner = entropy.ownerToken()
    const record = dryRun ? undefined : await RedriveRecord.begin(ctx, owner, deadLetters.totals)
    const work: Work = {
      ctx,
      deadLetters,
      owner,
      signal: stop.signal,
      tell: async (progress) => {
        control.tell(progress)
        const request = await record?.keep(progress.deadLetters, progress)
        if (request !== undefined) end(request, ASKED)
      },
    }
    try {
      const warnings = await eachPlace(work)
      await record?.end(event ?? { event: 'end', at: clock.now() })
      const status = event === undefined ? 'finished' : event.event === 'abort' ? 'aborted' : 'paused'
      return { ...deadLetters.result(), status, because: event?.because, warnings, stopped: event !== undefined }
    } catch (error) {
      await record?.end({ event: 'pause', because: describeError(error), at: clock.now() }).catch(() => {})
      throw error
    }
  })
}

/** Also those of before a rename. */
async function placesOf(of: ReplayedConsumer): Promise<readonly string[]> {
  return [...deadLetterPlaces(of.subscription.replay), ...(await existingFormerPlaces(of))]
}

type StopEvent = Extract<RunEvent, { readonly event: 'pause' | 'abort' }>

async function eachPlace(work: Work): Promise<readonly string[]> {
  const { ctx, deadLetters, signal } = work
  const { foreseen, places } = ctx
  const warnings: string[] = []
  let size = 0
  for (const from of places) {
    if (signal.aborted || (foreseen === undefined && deadLetters.looked === ctx.options.lookAtMost)) break
    if (foreseen !== undefined && foreseen.rangeOf(from) === undefined) continue
    const place = await redrivePlace(work, from, size)
    size = place.size
    warnings.push(...place.warnings)
  }
  return warnings
}

interface Work {
  readonly ctx: Redriving
  readonly deadLetters: DeadLetters
  readonly owner: string
  readonly signal: AbortSignal
  readonly tell: (progress: RedriveProgress) => Promise<void>
}

/** @param before - dead letters of the places before this one */
async function redrivePlace(
  { ctx, deadLetters, signal, owner, tell }: Work,
  from: string,
  before: number,
): Promise<{ readonly size: number; readonly warnings: readonly string[] }> {
  const { of, clock } = ctx
  const { foreseen } = ctx
  const { dryRun, lookAtMost: max, rate } = ctx.options
  const id = idOf(from)
  const hold = dryRun ? undefined : await takeHold(of, { id, owner, clock, state: () => stateOf(ctx, id, from) })
  const open: { close(): Promise<void> }[] = []
  try {
    const publisher = dryRun ? undefined : await of.subscription.replay?.publisher()
    if (publisher !== undefined) open.push(publisher)
    const reader = await of.open(from, [])
    open.push(reader)
    const seen = foreseen?.rangeOf(from)
    // A log is read again as far as it was read then. A queue is read until each of those has come.
    const most = max === undefined || foreseen !== undefined ? undefined : max - deadLetters.looked
    const range = seen !== undefined && !seen.takes ? seen.range : await reader.range({ max: most })
    deadLetters.begin(from, range, reader.takes)
    const size = before + range.parts.reduce((sum, part) => sum + Number(BigInt(part.to) - BigInt(part.from)), 0)
    if (!reader.takes && foreseen === undefined) {
      for await (const batch of reader.read(range, { signal })) await deadLetters.count(batch)
    }
    const sending = sendingBy(publisher, hold)
    const atOnce = Math.min(AT_ONCE, Math.ceil(rate ?? AT_ONCE))
    // No more of a queue than is meant, as far as its order is still that of the preview.
    const ahead = foreseen === undefined || !reader.takes ? undefined : Math.min(foreseen.count(from), MOST_AHEAD)
    for await (const batch of reader.read(range, { signal, ahead })) {
      for (let at = 0; at < batch.length && !signal.aborted; at += atOnce) {
        const ended = await deadLetters.take(batch.slice(at, at + atOnce), sending)
        await tell({ looked: deadLetters.looked, of: size, totals: { ...deadLetters.totals }, deadLetters: ended })
      }
      if (signal.aborted || (reader.takes && deadLetters.isComplete)) break
    }
    return { size, warnings: range.warnings }
  } finally {
    for (const one of open.toReversed()) await one.close().catch(() => {})
    await hold?.release()
  }
}

function sendingBy(publisher: ReplayPublisher | undefined, hold: Hold | undefined): Sending | undefined {
  return publisher === undefined || hold === undefined ? undefined : { publisher, hold }
}

/** @throws ConfigError `CONFIG_INVALID` */
function checked({ subscription: { replay }, scope }: ReplayedConsumer, given: RedriveOptions): CheckedRedrive {
  return optionsOf('redrive', REDRIVE, given, (options, problems) => {
    const { dryRun, by = '', reason = '', from, foreseen } = options
    if (!dryRun) checkDecider({ by, reason }, problems)
    problemsOfSelection(options, problems)
    if (foreseen instanceof ForeseenLetters && foreseen.scope !== scope) {
      problems.push('foreseen: expected that of the result of a dry run of this consumer')
    }
    if (replay === undefined) {
      problems.push(
        'subscription: expected what kafkaSubscription() or rabbitSubscription() returned: a redrive publishes',
      )
    }
    if (from === undefined && deadLetterPlaces(replay).length === 0)
      problems.push('from: expected the place of the dead letters: this consumer has none of its own')
  })
}

function newId(entropy: Entropy): string {
  return redriveId(hash('sha256', entropy.ownerToken(), 'hex'))
}

/** Checked before. */
function lettersOf({ foreseen }: { readonly foreseen?: Foreseen | undefined }): ForeseenLetters | undefined {
  return foreseen instanceof ForeseenLetters ? foreseen : undefined
}

/** For the hold of a place. */
function idOf(place: string): string {
  return redriveId(hash('sha256', place, 'hex'))
}

function stateOf({ options: { by, reason } }: Redriving, id: string, from: string): string {
  return JSON.stringify({ schema_version: 1, kind: 'redrive', id, from, by, reason })
}

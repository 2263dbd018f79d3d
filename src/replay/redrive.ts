import { hash } from 'node:crypto'
import { systemClock } from '../foundation/clock.ts'
import { checkDecider, DECIDER } from '../people/decider.ts'
import type { Consumer } from '../consumer/define-consumer.ts'
import { systemEntropy } from '../foundation/entropy.ts'
import { checkList, checkNames, checkOneOf, checkText, checkWhole, givenOf } from '../foundation/option-checks.ts'
import type { ReplayPublisher } from '../ports/replay.ts'
import type { Subscription } from '../ports/subscription.ts'
import { checkSelection, refuseProblems } from './check.ts'
import { ForeseenLetters, type Foreseen } from './foreseen.ts'
import { takeHold, type Hold } from './hold.ts'
import { startJob, type Job, type JobControl } from './job.ts'
import { DeadLetters, type Redriving, type Sending } from './dead-letters.ts'
import { SELECTION } from './plan.ts'
import { deadLetterPlaces, ReplayedConsumer } from './place.ts'
import type { RedriveOptions, RedriveProgress, RedriveResult } from './redrive-options.ts'

/** Dead letters that are reopened, published and settled together, at most those of a second. */
const AT_ONCE = 100

const KNOWN: Record<keyof RedriveOptions, true> = {
  ...SELECTION,
  ...DECIDER,
  dryRun: true,
  from: true,
  destination: true,
  keys: true,
  foreseen: true,
  allowDestinations: true,
  unknown: true,
  maxReplays: true,
  max: true,
  rate: true,
  clock: true,
  entropy: true,
}
const MISPLACED = { places: 'give one as `from`: a redrive knows the dead-letter places of its consumer' }

/**
 * Sends dead letters back to where they came from: reopens the record, publishes the message with the same ID, body and properties,
 * waits for the confirm, and only then settles the dead letter. A crash in between leaves two copies with one ID, and so one effect. It ends
 * with the dead letters that lay in each place when it was opened. Several places are worked through one after the other.
 *
 * @throws (the result rejects) ConfigError `CONFIG_INVALID`; ReplayError `REPLAY_REFUSED`: somebody else redrives this place
 * @throws (the result rejects) BrokerError, StoreError: what was published until then is settled
 */
export function redrive(
  consumer: Consumer,
  subscription: Subscription,
  asked: RedriveOptions,
): Job<RedriveProgress, RedriveResult> {
  return startJob('the redrive', async (control) => {
    const options = givenOf(asked)
    const of = new ReplayedConsumer(consumer, subscription, 'redrive()')
    const { clock = systemClock, entropy = systemEntropy } = options
    const places = checkedPlaces(of, options)
    const ctx: Redriving = { of, options, clock, places, id: idOf(places.join(' ')), foreseen: lettersOf(options) }
    await of.definition.store.open()
    const deadLetters = new DeadLetters(ctx, await of.horizon(clock.now()), control.signal)
    const work: Work = { ctx, deadLetters, control, owner: entropy.ownerToken() }
    const warnings: string[] = []
    let size = 0
    for (const from of places) {
      if (control.signal.aborted || (ctx.foreseen === undefined && deadLetters.looked === options.max)) break
      if (ctx.foreseen !== undefined && ctx.foreseen.rangeOf(from) === undefined) continue
      const place = await redrivePlace(work, from, size)
      size = place.size
      warnings.push(...place.warnings)
    }
    return { ...deadLetters.result(), warnings, stopped: control.signal.aborted }
  })
}

interface Work {
  readonly ctx: Redriving
  readonly deadLetters: DeadLetters
  readonly control: JobControl<RedriveProgress>
  readonly owner: string
}

/** @param before - dead letters of the places before this one */
async function redrivePlace(
  { ctx, deadLetters, control, owner }: Work,
  from: string,
  before: number,
): Promise<{ readonly size: number; readonly warnings: readonly string[] }> {
  const { of, clock } = ctx
  const { foreseen } = ctx
  const { dryRun = true, max, rate } = ctx.options
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
      for await (const batch of reader.read(range, { signal: control.signal })) await deadLetters.count(batch)
    }
    const sending = sendingBy(publisher, hold)
    const atOnce = Math.min(AT_ONCE, Math.ceil(rate ?? AT_ONCE))
    for await (const batch of reader.read(range, { signal: control.signal })) {
      for (let at = 0; at < batch.length && !control.signal.aborted; at += atOnce) {
        const ended = await deadLetters.take(batch.slice(at, at + atOnce), sending)
        control.tell({ looked: deadLetters.looked, of: size, totals: { ...deadLetters.totals }, deadLetters: ended })
      }
      if (control.signal.aborted || (reader.takes && deadLetters.isComplete)) break
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
function checkedPlaces(
  { subscription: { replay }, scope }: ReplayedConsumer,
  options: RedriveOptions,
): readonly string[] {
  const problems: string[] = []
  checkNames('', options, { of: 'redrive()', known: KNOWN, misplaced: MISPLACED }, problems)
  const { dryRun = true, by = '', reason = '', max, maxReplays, rate, unknown = 'leave', from } = options
  if (!dryRun) checkDecider({ by, reason }, problems)
  checkSelection(options, problems)
  if (max !== undefined) checkWhole('max', max, problems)
  if (maxReplays !== undefined) checkWhole('maxReplays', maxReplays, problems)
  if (rate !== undefined && !(Number.isFinite(rate) && rate > 0))
    problems.push(`rate: expected dead letters per second, got ${rate}`)
  checkOneOf('unknown', unknown, ['handle', 'leave'], problems)
  for (const destination of checkList('allowDestinations', options.allowDestinations, problems)) {
    checkText('allowDestinations', destination, problems)
  }
  for (const key of checkList('keys', options.keys, problems)) checkText('keys', key, problems)
  const { foreseen } = options
  if (foreseen !== undefined && !(foreseen instanceof ForeseenLetters && foreseen.scope === scope)) {
    problems.push('foreseen: expected that of the result of a dry run of this consumer')
  }
  if (replay === undefined) {
    problems.push(
      'subscription: expected what kafkaSubscription() or rabbitSubscription() returned: a redrive publishes',
    )
  }
  const places = from === undefined ? deadLetterPlaces(replay) : [from]
  if (places.length === 0)
    problems.push('from: expected the place of the dead letters: this consumer has none of its own')
  refuseProblems('redrive', problems)
  return places
}

/** Checked before. */
function lettersOf({ foreseen }: { readonly foreseen?: Foreseen | undefined }): ForeseenLetters | undefined {
  return foreseen instanceof ForeseenLetters ? foreseen : undefined
}

function idOf(place: string): string {
  return `redrive-${hash('sha256', place, 'hex').slice(0, 8)}`
}

function stateOf({ options: { by, reason } }: Redriving, id: string, from: string): string {
  return JSON.stringify({ schema_version: 1, kind: 'redrive', id, from, by, reason })
}

import { systemClock } from '../foundation/clock.ts'
import type { DurationMs } from '../core/units.ts'
import { definitionOf, type Consumer } from '../consumer/define-consumer.ts'
import { ConfigError, describeError } from '../foundation/errors.ts'
import { millis, or, readOptions, refuse, type Table } from '../foundation/options.ts'
import { withoutSecrets } from '../foundation/without-secrets.ts'
import { durationText } from '../core/duration-text.ts'
import type { ResolvedConsumer } from '../consumer/resolve-options.ts'
import { shorterThanHandlers } from './idle-limit.ts'
import type { CheckFinding, Checkup } from '../ports/checkup.ts'
import { checkSubscription } from './check-subscription.ts'
import type { CheckedConsumer, Subscription } from '../ports/subscription.ts'
import type { Strategy } from '../ports/store.ts'

export type CheckVerdict = CheckFinding['verdict']

/** The guarantee that a consumer has on its actual servers. */
export interface Diagnosis {
  readonly consumer: string
  readonly strategy: Strategy
  /** The worst verdict of all findings: `broken`, then `weaker`, then `unknown`. */
  readonly verdict: CheckVerdict
  /** One paragraph for people: the promise, and the names of the findings that weaken it. */
  readonly guarantee: string
  /** Findings about the store first, then the broker; the worst first in each. */
  readonly findings: readonly (CheckFinding & { readonly of: 'store' | 'broker' })[]
  /** Servers that did not answer. They may answer later. */
  readonly unreachable: readonly ('store' | 'broker')[]
}

export interface DoctorOptions {
  /**
   * How long the store and the broker may each take, in milliseconds. After that they count as unreachable.
   * @defaultValue 30000
   */
  readonly timeoutMs?: DurationMs
}

const DOCTOR: Table<DoctorOptions> = { timeoutMs: or(30_000, millis()) }

/** Worst first. */
const VERDICTS: readonly CheckVerdict[] = ['broken', 'weaker', 'unknown', 'holds']

/**
 * Checks the live servers of a consumer against its guarantee. It changes nothing. A setting that cannot be read is
 * `unknown`, never fine; the diagnosis names a server that does not answer.
 *
 * @param subscription - `kafkaSubscription(...)`, `rabbitSubscription(...)`. Without it the broker is
 * `unknown`
 * @throws ConfigError `CONFIG_INVALID` if `consumer` is not the result of `defineConsumer`, and for wrong options
 */
export async function doctor(
  consumer: Consumer,
  subscription?: Subscription,
  options: DoctorOptions = {},
): Promise<Diagnosis> {
  const problems: string[] = []
  const { timeoutMs } = readOptions(DOCTOR, options, { name: '', problems })
  if (subscription !== undefined) checkSubscription(subscription, { needsOrigins: true }, problems)
  refuse('doctor', problems)
  const definition = definitionOf(consumer)
  const { name, store } = definition
  const { strategy } = store
  const checked = checkedOf(definition)
  const [ofStore, ofBroker] = await Promise.all([
    look('store', checkupOf(store), timeoutMs),
    look('broker', subscription?.checkup?.bind(subscription, checked), timeoutMs),
  ])
  const told = [...ofStore.findings, ...ofIdleLimit(definition), ...ofBroker.findings]
  const findings = told.map((finding) => ({
    ...finding,
    found: withoutSecrets(finding.found),
    meaning: withoutSecrets(finding.meaning),
  }))
  return {
    consumer: name,
    strategy,
    verdict: VERDICTS.find((verdict) => findings.some((finding) => finding.verdict === verdict)) ?? 'unknown',
    guarantee: [promiseOf(definition), ...whatWasFound(findings)].join(' '),
    findings,
    unreachable: [ofStore, ofBroker].flatMap(({ of, isReachable }) => (isReachable ? [] : [of])),
  }
}

/** The outbox lies in the database of the store. */
function checkupOf(store: ResolvedConsumer['store']): Checkup | undefined {
  const { outbox } = store
  const checkup = store.checkup?.bind(store)
  return checkup && (async () => [...(await checkup()), ...((await outbox?.checkup()) ?? [])])
}

function ofIdleLimit(definition: ResolvedConsumer): readonly Finding[] {
  const found = shorterThanHandlers(definition)
  if (found === undefined) return []
  const meaning = 'A handler that waits longer for somebody else is never marked, and ends as a dead letter.'
  return [{ of: 'store', check: 'store.idle-limit', verdict: 'weaker', found, meaning }]
}

function checkedOf(definition: ResolvedConsumer): CheckedConsumer {
  const { store, retentionMs, onBeyondRetention, leaseMs, handlerTimeoutMs, graceMs, maxAttempts } = definition
  const longestRunMs = handlerTimeoutMs + graceMs
  return { strategy: store.strategy, retentionMs, onBeyondRetention, leaseMs, longestRunMs, maxAttempts }
}

type Finding = Diagnosis['findings'][number]

interface Look {
  readonly of: 'store' | 'broker'
  readonly findings: readonly Finding[]
  readonly isReachable: boolean
}

async function look(of: 'store' | 'broker', ask: Checkup | undefined, timeoutMs: DurationMs): Promise<Look> {
  const unknown = (check: string, found: string, meaning: string): readonly Finding[] => [
    { of, check: `${of}.${check}`, verdict: 'unknown', found, meaning },
  ]
  if (ask === undefined) {
    const meaning = `Nothing is known of the ${of}: look at its settings by hand.`
    return { of, isReachable: true, findings: unknown('checkup', 'nobody to ask', meaning) }
  }
  try {
    const findings = await within(timeoutMs, ask())
    const sorted = findings.toSorted((a, b) => VERDICTS.indexOf(a.verdict) - VERDICTS.indexOf(b.verdict))
    return { of, isReachable: true, findings: sorted.map((finding) => ({ of, ...finding })) }
  } catch (error) {
    if (error instanceof ConfigError) throw error
    const meaning = `The ${of} could not be asked: see that it can be reached from here, then ask again.`
    return { of, isReachable: false, findings: unknown('unreachable', describeError(error), meaning) }
  }
}

function within<T>(ms: DurationMs, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = systemClock.after(ms, () => reject(new Error(`no answer within ${ms} ms`)))
    work.then(resolve, reject).finally(cancel)
  })
}

/** The row of the guarantee table for this strategy. */
function promiseOf(consumer: ResolvedConsumer): string {
  const { name, store, mode, identities } = consumer
  if (mode === 'observe') return `${name} (${store.strategy}): ${OBSERVED}`
  return `${ofOneIdentity(consumer)}${identities.length > 1 ? severalIdentities(identities.length) : ''}`
}

function ofOneIdentity(consumer: ResolvedConsumer): string {
  const { name, store } = consumer
  if (store.strategy === 'lease' && store.marksFirst === true) {
    return `${name} (lease): ${atMostOnce(consumer)} ${retentionOf(consumer)}`
  }
  const start = `${name} (${store.strategy}): no message is lost while the broker retains it.`
  switch (store.strategy) {
    case 'inbox':
      return `${start} Its handler may start twice; what it writes through ctx.tx commits once, while the row is kept; an effect outside of ctx.tx may happen twice. ${retentionOf(consumer)}${numbered(store)}`
    case 'offsets':
      return `${start} Its handler may start twice; what it writes through ctx.tx commits once for each offset; what a producer sends again has another offset, and its effect again.`
    case 'lease':
      return `${start} ${leasePromise(consumer)} ${retentionOf(consumer)}${consumer.onStoreDown === 'pause' ? '' : UNPROTECTED}${numbered(store)}`
  }
}

function atMostOnce({ concurrency, onInDoubt }: ResolvedConsumer): string {
  const unknown = onInDoubt === 'park' ? 'is parked for a person' : 'is lost too'
  return `at most once. The mark is written before the handler starts: what was under way when a process dies (${concurrency} messages at most) is lost, and each redelivery of it is settled as a duplicate. A message whose outcome the handler does not know ${unknown}. No effect happens twice, unless a handler throws although its effect happened.`
}

function severalIdentities(count: number): string {
  return ` This holds for each of its ${count} identities: messages that share one count as the same message.`
}

function numbered({ keys }: ResolvedConsumer['store']): string {
  return keys === 'sequences' ? NUMBERED : ''
}

const NUMBERED =
  " It keeps a mark for each sender: a number that a sender uses again far behind its newest one is parked, or dropped under onBehind: 'duplicate'; a gap runs whenever it comes."

const OBSERVED =
  "mode 'observe' protects nothing. Every delivery runs, also a duplicate; no message is lost while the broker retains it, none is parked or dead-lettered, and what fails is tried again without end. Remove the mode to have duplicates dropped."

const UNPROTECTED =
  " While the store does not answer, messages run without a claim (onStoreDown: 'run-unprotected'): what was handled before, or runs elsewhere, runs again. Each such run is counted."

function retentionOf({ retentionMs, onBeyondRetention }: ResolvedConsumer): string {
  const later = `A redelivery more than ${durationText(retentionMs)} after the mark`
  switch (onBeyondRetention) {
    case 'run':
      return `${later} runs again.`
    case 'park':
      return `${later} is parked, if the message has a timestamp, else it runs again.`
    case 'skip':
      return `${later} is skipped, if the message has a timestamp, and so is one as old that was never handled.`
  }
}

function leasePromise({ onInDoubt, concurrency, leaseMs }: ResolvedConsumer): string {
  const after = `After a crash, or when paused or cut off from its store for longer than the lease (${durationText(leaseMs)}), what was under way (${concurrency} at most) is in doubt`
  switch (onInDoubt) {
    case 'park':
      return `${after} and parked for a person: no effect happens twice, unless a handler throws although its effect happened, or a person lets it run again.`
    case 'rerun':
      return `${after} and runs again: its effect may happen twice, unless it carries ctx.idempotencyKey to a provider that deduplicates on it.`
    case 'reconcile':
      return `${after}, and your function says whether it happened: no effect happens twice as far as that is right.`
  }
}

const HEADINGS: readonly (readonly [Exclude<CheckVerdict, 'holds'>, string])[] = [
  ['broken', 'This does not hold here'],
  ['weaker', 'It is weaker here'],
  ['unknown', 'Not known'],
]

/** What each means is said beside it, in its finding. */
function whatWasFound(findings: readonly Finding[]): string[] {
  const parts = HEADINGS.flatMap(([verdict, heading]) => {
    const told = findings.filter((finding) => finding.verdict === verdict)
    return told.length === 0 ? [] : [`${heading}: ${told.map(({ check, found }) => `${check} (${found})`).join(', ')}.`]
  })
  return parts.length > 0 ? parts : ['Nothing was found that weakens it.']
}

import { HOLD_AFTER } from '../core/breaker.ts'
import type { InDoubtPolicy } from '../core/after-claim.ts'
import { leaseMarginMs } from '../core/lease-margin.ts'
import { longestAttempt } from '../core/retention.ts'
import type { DurationMs } from '../core/units.ts'
import { ConfigError } from '../foundation/errors.ts'
import { optionsOf, type Complete } from '../foundation/options.ts'
import { shownText } from '../foundation/shown.ts'
import {
  defaultOnConflict,
  identitiesOf,
  problemsOfIdentity,
  type ConflictPolicy,
  type Identity,
} from '../identity/identities.ts'
import { standardId } from '../identity/message-id.ts'
import type { Message } from '../ports/message.ts'
import type { Observer } from '../ports/observer.ts'
import type { Backoff } from '../core/backoff.ts'
import { CONSUMER, type AnyConsumerOptions, type WithoutDefault } from './consumer-table.ts'
import { problemsOfFormerNames } from './former-names.ts'
import { limitOf, type Limit } from './limit.ts'
import type { ConsumerOptions, Reconciled } from './options.ts'
import { busyWaitOf } from './when-busy.ts'

type CompleteOptions = Complete<AnyConsumerOptions, WithoutDefault>

type Computed = 'id' | 'hold' | 'whenBusy' | 'observe' | 'onInDoubt' | 'onConflict' | 'backoff' | 'limit' | ByOthers

/** Options whose default depends on others. */
type ByOthers = 'batchSize' | 'maxInFlight' | 'renewEveryMs'

/**
 * The options of a consumer, complete and checked. The types of payload and transaction are erased: the pipeline never
 * looks into them.
 */
export interface ResolvedConsumer extends Omit<CompleteOptions, Computed> {
  readonly batchSize: number
  readonly maxInFlight: number
  readonly renewEveryMs: DurationMs
  readonly backoff: Backoff
  readonly limit: Limit | undefined
  /** So many final failures in a row hold the consumer. `Infinity`: none do. */
  readonly holdAfter: number
  /** How long a message waits in its lane while another process has it; `undefined`: as the source says. */
  readonly busyWaitMs: DurationMs | undefined
  readonly onConflict: ConflictPolicy
  /** At least one. The keys of several are claimed and marked together. */
  readonly identities: readonly Identity[]
  readonly onInDoubt: InDoubtPolicy
  readonly reconcile: ((message: Message, idempotencyKey: string) => Reconciled | Promise<Reconciled>) | undefined
  readonly observers: readonly Observer[]
  /** Names of the options that were given. */
  readonly given: readonly string[]
}

/** @throws ConfigError `CONFIG_INVALID`, with all problems at once */
export function resolveOptions<Decoded, Payload, Tx>(options: ConsumerOptions<Decoded, Payload, Tx>): ResolvedConsumer {
  if (typeof options !== 'object' || options === null) {
    throw new ConfigError([`consumer: expected options such as { name, store, handle }, got ${shownText(options)}`])
  }
  const given = options as unknown as AnyConsumerOptions
  const read = optionsOf(`consumer ${shownText(options.name)}`, CONSUMER, given, (complete, problems) => {
    problemsOfRelations({ ...complete, ...numbersOf(complete) }, given, problems)
  })
  const { onInDoubt, mode } = read
  const id: unknown = read.id ?? standardId()
  const onConflict = read.onConflict ?? defaultOnConflict(id)
  return Object.freeze({
    ...read,
    ...numbersOf(read),
    backoff: read.backoff as Backoff,
    limit: limitOf(read.limit),
    // In mode `observe` no message waits for the store.
    onStoreDown: mode === 'observe' ? 'run-unprotected' : read.onStoreDown,
    // In mode `observe` no message ends without its effect.
    holdAfter: read.hold && mode === 'enforce' ? HOLD_AFTER : Number.POSITIVE_INFINITY,
    busyWaitMs: busyWaitOf(read.whenBusy),
    onConflict,
    identities: identitiesOf(id, onConflict),
    onInDoubt: typeof onInDoubt === 'function' ? 'reconcile' : onInDoubt,
    reconcile: typeof onInDoubt === 'function' ? onInDoubt : undefined,
    observers: Object.freeze([read.observe ?? []].flat()),
    given: Object.entries(options).flatMap(([name, value]) => (value === undefined ? [] : [name])),
  })
}

/** The defaults that depend on other options. */
function numbersOf(options: CompleteOptions): Pick<ResolvedConsumer, ByOthers> {
  const { store, concurrency, transactions, leaseMs } = options
  const { batchSize = defaultBatchSize(options), renewEveryMs = Math.floor(leaseMs / 3) } = options
  // Twice the number of messages that can be claimed at once: one half runs while the other waits.
  const atOnce = store.strategy === 'lease' ? concurrency : transactions * batchSize
  const { maxInFlight = Math.max(LEAST_IN_FLIGHT, 2 * atOnce, concurrency) } = options
  return { batchSize, renewEveryMs, maxInFlight }
}

const LEAST_IN_FLIGHT = 500

/** A transaction counts an attempt of all its messages before their handlers begin. */
function defaultBatchSize({ handleBatch, maxAttempts }: CompleteOptions): number {
  if (handleBatch !== undefined) return 500
  return maxAttempts === 1 ? 1 : 100
}

type Options = Omit<CompleteOptions, ByOthers> & Pick<ResolvedConsumer, ByOthers>

function problemsOfRelations(options: Options, given: AnyConsumerOptions, problems: string[]): void {
  if ((options.handle === undefined) === (options.handleBatch === undefined)) {
    problems.push('handle, handleBatch: expected exactly one of the two')
  }
  problemsOfNumbers(options, problems)
  problemsOfStrategy(options, given, problems)
  problemsOfRemembering(options, problems)
  problems.push(...problemsOfIdentity(given, options.retentionMs))
  problems.push(...problemsOfFormerNames(options.scope, options.store.strategy))
}

function problemsOfNumbers(options: Options, problems: string[]): void {
  const { leaseMs, renewEveryMs, retentionMs, maxInFlight, concurrency, maxAttempts, batchSize } = options
  const backoff = options.backoff as Backoff
  const marginMs = leaseMarginMs(leaseMs)
  if (renewEveryMs >= leaseMs - marginMs) {
    problems.push(
      `renewEveryMs: expected less than leaseMs (${leaseMs}) less the margin before its end (${marginMs}), got ${renewEveryMs}: ` +
        `handlers would be aborted before the renewal of their lease`,
    )
  }
  const longest = longestAttempt({ ...options, backoff })
  if (retentionMs <= longest.ms) {
    problems.push(
      `retentionMs: expected more than leaseMs + handlerTimeoutMs + graceMs + the longest delay between attempts ` +
        `(${longest.sum} = ${longest.ms}), got ${retentionMs}: a message could be forgotten between two attempts`,
    )
  }
  if (maxInFlight < concurrency) {
    problems.push(
      `maxInFlight: expected at least concurrency (${concurrency}), got ${maxInFlight}: slots would stay empty`,
    )
  }
  if (backoff.initialMs > backoff.maxMs) {
    problems.push(`backoff: expected initialMs <= maxMs, got ${backoff.initialMs} > ${backoff.maxMs}`)
  }
  const areBatched = options.handleBatch !== undefined || options.store.strategy !== 'lease'
  if (areBatched && maxAttempts === 1 && batchSize > 1) {
    problems.push(
      `maxAttempts: expected at least 2 with batches of up to ${batchSize} messages, got 1: when a process dies, the only attempt ` +
        `of each message of its batch is spent, although the handler of most never began. Set batchSize: 1, or maxAttempts: 2`,
    )
  }
}

const NOT_WITH_OFFSETS = [
  ['id', 'a message is known by its partition and offset. Where senders repeat messages use postgresInbox({ pool })'],
  ['onConflict', 'nothing else can lie at the same partition and offset'],
  ['onBeyondRetention', 'it keeps one position for ever, and forgets no message'],
  ['whenBusy', 'the position moves in order, so messages wait in their partition'],
] as const

function problemsOfStrategy(
  { store, mode, onStoreDown }: Options,
  given: AnyConsumerOptions,
  problems: string[],
): void {
  if (store.strategy === 'lease') return
  if (given.onInDoubt !== undefined) {
    const subject = store.strategy === 'inbox' ? 'an inbox' : 'a store of strategy offsets'
    problems.push(`onInDoubt: ${subject} knows no doubt, effect and mark are one transaction; leave it out`)
  }
  const why = `a store of strategy ${store.strategy} opens the transaction of the handler, so no handler runs without it`
  if (mode === 'observe') {
    problems.push(
      `mode: expected "enforce", got "observe": ${why}. To observe, take a store of strategy lease, such as postgresLease({ pool })`,
    )
  }
  if (onStoreDown === 'run-unprotected') {
    problems.push(
      `onStoreDown: expected "pause", got "run-unprotected": ${why}. Leave it out, or take a store of strategy lease`,
    )
  }
  if (store.strategy !== 'offsets') return
  if (typeof store.positions?.next !== 'function') {
    problems.push('store: expected one of strategy offsets to have positions, got none')
  }
  for (const [option, about] of NOT_WITH_OFFSETS) {
    if (given[option] !== undefined) problems.push(`${option}: leave it out with a store of strategy offsets: ${about}`)
  }
}

function problemsOfRemembering(options: Options, problems: string[]): void {
  const { store, handleBatch } = options
  for (const name of ['rememberResult', 'rememberFailure'] as const) {
    if (options[name] === undefined || options[name] === false) continue
    if (handleBatch !== undefined) {
      problems.push(
        `${name}: leave it out with handleBatch, which returns and throws for all of its messages; use handle`,
      )
    }
    if (store.strategy === 'lease' && store.marksFirst === true) {
      problems.push(`${name}: leave it out with a store that marks before the handler: there is nothing to keep yet`)
    }
    if (store.strategy === 'offsets') {
      problems.push(
        `${name}: leave it out with a store of strategy offsets: it keeps one position, and nothing of a message`,
      )
    }
  }
}

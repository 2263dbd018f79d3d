import type { Backoff } from '../core/backoff.ts'
import type { BeyondRetentionPolicy, InDoubtPolicy } from '../core/decision.ts'
import { HOLD_AFTER } from '../core/breaker.ts'
import { leaseMarginMs } from '../core/lease-margin.ts'
import { longestAttempt } from '../core/retention.ts'
import type { DurationMs } from '../core/units.ts'
import { json, type Decode, type StandardSchema } from './decode.ts'
import { DEFAULTS, LEAST_LEASE_MS, LONGEST_RETENTION_MS } from './defaults.ts'
import { ConfigError } from '../foundation/errors.ts'
import {
  defaultOnConflict,
  identitiesOf,
  problemsOfIdentity,
  type ConflictPolicy,
  type Identity,
} from '../identity/identities.ts'
import { standardId } from '../identity/message-id.ts'
import {
  checkFunction,
  checkNames,
  checkObject,
  checkOneOf,
  checkText,
  checkNumber,
  shownText,
} from '../foundation/option-checks.ts'
import type {
  BatchContext,
  ConsumerOptions,
  ConsumerSettings,
  HandlerContext,
  Reconciled,
  SealResult,
} from './options.ts'
import type { Logger } from '../ports/logger.ts'
import type { Message } from '../ports/message.ts'
import type { Observer } from '../ports/observer.ts'
import type { Store } from '../ports/store.ts'
import type { Tracing } from '../ports/tracing.ts'
import { busyWaitOf, problemsOfWhenBusy } from './when-busy.ts'

/**
 * The options of a consumer, complete and checked. The types of payload and transaction are erased: the pipeline never
 * looks into them.
 */
export interface ResolvedConsumer {
  readonly name: string
  readonly store: Store<unknown>
  readonly decode: Decode<unknown>
  readonly schema: StandardSchema<unknown, unknown> | undefined
  readonly handle: ((context: HandlerContext<unknown, unknown>) => unknown) | undefined
  readonly handleBatch: ((context: BatchContext<unknown, unknown>) => unknown) | undefined
  readonly concurrency: number
  readonly transactions: number
  readonly batchSize: number
  readonly maxInFlight: number
  readonly leaseMs: DurationMs
  readonly renewEveryMs: DurationMs
  readonly retentionMs: DurationMs
  readonly handlerTimeoutMs: DurationMs
  readonly graceMs: DurationMs
  readonly maxAttempts: number
  readonly rememberResult: boolean
  readonly maxResultBytes: number
  readonly rememberFailure: ((error: unknown) => boolean) | undefined
  readonly sealResult: SealResult | undefined
  readonly backoff: Backoff
  readonly onBeyondRetention: BeyondRetentionPolicy
  readonly purge: 'background' | 'never'
  readonly mode: 'enforce' | 'observe'
  readonly onStoreDown: 'pause' | 'run-unprotected'
  /** So many final failures in a row hold the consumer. `Infinity`: none do. */
  readonly holdAfter: number
  /** How long a message waits in its lane while another process has it; `undefined`: as the source says. */
  readonly busyWaitMs: DurationMs | undefined
  readonly onConflict: ConflictPolicy
  /** At least one. The keys of several are claimed and marked together. */
  readonly identities: readonly Identity[]
  readonly onInDoubt: InDoubtPolicy
  readonly reconcile: ((message: Message, idempotencyKey: string) => Reconciled | Promise<Reconciled>) | undefined
  readonly log: Logger
  readonly logIds: boolean
  readonly observers: readonly Observer[]
  readonly trace: Tracing | undefined
  readonly scope: string | undefined
}

/** The logger of a consumer without the option `log`. */
export const SILENT: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

const LEVELS = ['debug', 'info', 'warn', 'error'] as const

/** Every known option. */
export const CONSUMER_OPTIONS: Record<
  keyof ConsumerSettings<unknown, unknown, unknown> | 'handle' | 'handleBatch',
  true
> = {
  name: true,
  store: true,
  id: true,
  decode: true,
  schema: true,
  handle: true,
  handleBatch: true,
  concurrency: true,
  transactions: true,
  batchSize: true,
  maxInFlight: true,
  leaseMs: true,
  renewEveryMs: true,
  retentionMs: true,
  handlerTimeoutMs: true,
  graceMs: true,
  maxAttempts: true,
  backoff: true,
  onConflict: true,
  onInDoubt: true,
  onBeyondRetention: true,
  purge: true,
  mode: true,
  onStoreDown: true,
  hold: true,
  whenBusy: true,
  rememberResult: true,
  maxResultBytes: true,
  rememberFailure: true,
  sealResult: true,
  log: true,
  logIds: true,
  observe: true,
  trace: true,
  scope: true,
}

type AnyOptions = ConsumerOptions<never, never, never>

/** The numeric options with a bound, with their defaults filled in. */
type Numbers = Pick<
  ResolvedConsumer,
  | 'concurrency'
  | 'transactions'
  | 'batchSize'
  | 'maxInFlight'
  | 'leaseMs'
  | 'renewEveryMs'
  | 'retentionMs'
  | 'handlerTimeoutMs'
  | 'graceMs'
  | 'maxAttempts'
  | 'maxResultBytes'
>

/** Checks every bound and relation and reports all problems in one error. @throws ConfigError `CONFIG_INVALID` */
export function resolveOptions<Decoded, Payload, Tx>(options: ConsumerOptions<Decoded, Payload, Tx>): ResolvedConsumer {
  if (typeof options !== 'object' || options === null) {
    throw new ConfigError([`consumer: expected options such as { name, store, handle }, got ${shownText(options)}`])
  }
  const given = options as unknown as AnyOptions
  const numbers = numbersOf(given)
  const backoff = { ...DEFAULTS.backoff, ...options.backoff }
  const problems = [
    ...problemsOfNumbers({ ...numbers, 'backoff.initialMs': backoff.initialMs, 'backoff.maxMs': backoff.maxMs }),
    ...problemsOfNames(given),
    ...problemsOfHandling(given),
    ...problemsOfTimes(numbers, backoff),
    ...problemsOfBatches(given, numbers),
    ...problemsOfBackoff(backoff, given),
    ...problemsOfStrategy(given),
    ...problemsOfRemembering(given),
    ...problemsOfPolicies(given),
    ...problemsOfIdentity(given, numbers.retentionMs),
  ]
  if (problems.length > 0)
    throw new ConfigError(problems.map((problem) => `consumer ${shownText(options.name)}: ${problem}`))

  const { onInDoubt = DEFAULTS.onInDoubt, mode = DEFAULTS.mode } = options
  const id: unknown = options.id ?? standardId()
  const onConflict = options.onConflict ?? defaultOnConflict(id)
  return Object.freeze({
    name: options.name,
    store: options.store,
    decode: options.decode ?? json(),
    schema: options.schema,
    handle: options.handle as ResolvedConsumer['handle'],
    handleBatch: options.handleBatch as ResolvedConsumer['handleBatch'],
    ...numbers,
    rememberResult: options.rememberResult ?? false,
    rememberFailure: options.rememberFailure,
    sealResult: options.sealResult,
    backoff,
    onBeyondRetention: options.onBeyondRetention ?? DEFAULTS.onBeyondRetention,
    purge: options.purge ?? DEFAULTS.purge,
    mode,
    // In mode `observe` no message waits for the store.
    onStoreDown: mode === 'observe' ? 'run-unprotected' : (options.onStoreDown ?? DEFAULTS.onStoreDown),
    // In mode `observe` no message ends without its effect.
    holdAfter: (options.hold ?? DEFAULTS.hold) && mode === 'enforce' ? HOLD_AFTER : Number.POSITIVE_INFINITY,
    busyWaitMs: busyWaitOf(options.whenBusy),
    onConflict,
    identities: identitiesOf(id, onConflict),
    onInDoubt: typeof onInDoubt === 'function' ? 'reconcile' : onInDoubt,
    reconcile: typeof onInDoubt === 'function' ? onInDoubt : undefined,
    log: options.log ?? SILENT,
    logIds: options.logIds ?? false,
    observers: Object.freeze([options.observe ?? []].flat()),
    trace: options.trace,
    scope: options.scope,
  })
}

function numbersOf(options: AnyOptions): Numbers {
  const leaseMs = options.leaseMs ?? DEFAULTS.leaseMs
  const concurrency = options.concurrency ?? DEFAULTS.concurrency
  const transactions = options.transactions ?? DEFAULTS.transactions
  const maxAttempts = options.maxAttempts ?? DEFAULTS.maxAttempts
  const batchSize = options.batchSize ?? defaultBatchSize(options, maxAttempts)
  return {
    concurrency,
    transactions,
    batchSize,
    maxInFlight: options.maxInFlight ?? defaultInFlight(options.store, { concurrency, transactions, batchSize }),
    leaseMs,
    renewEveryMs: options.renewEveryMs ?? Math.floor((isWhole(leaseMs) ? leaseMs : DEFAULTS.leaseMs) / 3),
    retentionMs: options.retentionMs ?? DEFAULTS.retentionMs,
    handlerTimeoutMs: options.handlerTimeoutMs ?? DEFAULTS.handlerTimeoutMs,
    graceMs: options.graceMs ?? DEFAULTS.graceMs,
    maxAttempts,
    maxResultBytes: options.maxResultBytes ?? DEFAULTS.maxResultBytes,
  }
}

/** A transaction counts an attempt of all its messages before their handlers begin. */
function defaultBatchSize({ handleBatch }: AnyOptions, maxAttempts: number): number {
  if (handleBatch !== undefined) return DEFAULTS.handleBatchSize
  return maxAttempts === 1 ? 1 : DEFAULTS.batchSize
}

function problemsOfBatches(
  { store, handleBatch }: AnyOptions,
  { maxAttempts, batchSize }: Pick<Numbers, 'maxAttempts' | 'batchSize'>,
): string[] {
  const areBatched = handleBatch !== undefined || store?.strategy === 'inbox' || store?.strategy === 'offsets'
  if (!areBatched || maxAttempts !== 1 || !isWhole(batchSize) || batchSize === 1) return []
  return [
    `maxAttempts: expected at least 2 with batches of up to ${batchSize} messages, got 1: when a process dies, the only attempt ` +
      `of each message of its batch is spent, although the handler of most never began. Set batchSize: 1, or maxAttempts: 2`,
  ]
}

/** Twice the number of messages that can be claimed at once: one half runs while the other waits. */
function defaultInFlight(
  store: AnyOptions['store'] | undefined,
  { concurrency, transactions, batchSize }: Pick<Numbers, 'concurrency' | 'transactions' | 'batchSize'>,
): number {
  // Not checked yet: a value that is not a number is reported under its own name.
  if (![concurrency, transactions, batchSize].every(isWhole)) return DEFAULTS.leastInFlight
  const atOnce = store?.strategy === 'lease' ? concurrency : transactions * batchSize
  return Math.max(DEFAULTS.leastInFlight, 2 * atOnce, concurrency)
}

/** What `checkWhole` takes. */
function isWhole(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 1
}

function problemsOfNumbers(numbers: Readonly<Record<string, number>>): string[] {
  const problems: string[] = []
  for (const [name, value] of Object.entries(numbers)) checkNumber(name, value, problems)
  return problems
}

function problemsOfNames(options: AnyOptions): string[] {
  const { name, scope } = options
  const problems: string[] = []
  if (typeof name !== 'string' || name.length === 0 || name.length > 200) {
    problems.push(`name: expected 1 to 200 characters, got ${shownText(name)}`)
  } else checkText('name', name, problems)
  if (scope !== undefined) checkText('scope', scope, problems)
  checkNames('', options, { of: 'defineConsumer()', known: CONSUMER_OPTIONS }, problems)
  return problems
}

function problemsOfHandling(options: AnyOptions): string[] {
  const problems: string[] = []
  if (typeof options.store?.claim !== 'function') {
    problems.push('store: expected a store such as postgresInbox({ pool }), redisLease({ redis }) or memoryStore()')
  }
  if ((options.handle === undefined) === (options.handleBatch === undefined)) {
    problems.push('handle, handleBatch: expected exactly one of the two')
  }
  if (options.logIds !== undefined) checkOneOf('logIds', options.logIds, [true, false], problems)
  const missing = LEVELS.filter((level) => options.log !== undefined && typeof options.log?.[level] !== 'function')
  if (missing.length > 0) problems.push(`log: expected a logger such as pino(), got one without ${missing.join(', ')}`)
  for (const name of ['handle', 'handleBatch', 'id', 'decode'] as const) {
    if (options[name] !== undefined && !(name === 'id' && Array.isArray(options.id)))
      checkFunction(name, options[name], problems)
  }
  problemsOfObservers(options.observe, problems)
  if (options.trace !== undefined && typeof options.trace?.begin !== 'function') {
    problems.push(`trace: expected what otelTracing() returns, got ${shownText(options.trace)}`)
  }
  if (options.schema !== undefined && typeof options.schema?.['~standard']?.validate !== 'function') {
    problems.push('schema: expected a Standard Schema, such as one of zod, valibot or arktype')
  }
  return problems
}

function problemsOfObservers(observe: AnyOptions['observe'], problems: string[]): void {
  if (observe === undefined) return
  if (!Array.isArray(observe)) return checkFunction('observe', observe, problems)
  for (const [at, one] of observe.entries()) checkFunction(`observe[${at}]`, one, problems)
}

function problemsOfTimes(numbers: Numbers, backoff: Backoff): string[] {
  const { leaseMs, renewEveryMs, retentionMs, maxInFlight, concurrency } = numbers
  const problems: string[] = []
  // Each such value is reported already, and arithmetic with a bigint would throw.
  if (!Object.values({ ...numbers, ...backoff }).every(isWhole)) return problems
  if (leaseMs < LEAST_LEASE_MS) {
    problems.push(
      `leaseMs: expected at least ${LEAST_LEASE_MS}, got ${leaseMs}: it is renewed at a third, which needs a round trip to the store`,
    )
    return problems
  }
  if (retentionMs > LONGEST_RETENTION_MS) {
    problems.push(`retentionMs: expected at most ${LONGEST_RETENTION_MS} (100 years), got ${retentionMs}`)
  }
  const marginMs = leaseMarginMs(leaseMs)
  if (renewEveryMs >= leaseMs - marginMs) {
    problems.push(
      `renewEveryMs: expected less than leaseMs (${leaseMs}) less the margin before its end (${marginMs}), got ${renewEveryMs}: ` +
        `handlers would be aborted before the renewal of their lease`,
    )
  }
  const longest = longestAttempt({ ...numbers, backoff })
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
  return problems
}

function problemsOfBackoff({ initialMs, maxMs }: Backoff, { backoff }: AnyOptions): string[] {
  const problems: string[] = []
  const given = backoff === undefined ? {} : checkObject('backoff', backoff, problems)
  checkNames('backoff.', given, { of: 'defineConsumer()', known: DEFAULTS.backoff }, problems)
  if (initialMs > maxMs) problems.push(`backoff: expected initialMs <= maxMs, got ${initialMs} > ${maxMs}`)
  return problems
}

const NOT_WITH_OFFSETS = [
  ['id', 'a message is known by its partition and offset. Where senders repeat messages use postgresInbox({ pool })'],
  ['onConflict', 'nothing else can lie at the same partition and offset'],
  ['onBeyondRetention', 'it keeps one position for ever, and forgets no message'],
  ['whenBusy', 'the position moves in order, so messages wait in their partition'],
] as const

function problemsOfStrategy(options: AnyOptions): string[] {
  const problems: string[] = []
  const store = options.store as Store<unknown> | undefined
  if ((store?.strategy === 'inbox' || store?.strategy === 'offsets') && options.onInDoubt !== undefined) {
    const subject = store.strategy === 'inbox' ? 'an inbox' : 'a store of strategy offsets'
    problems.push(`onInDoubt: ${subject} knows no doubt, effect and mark are one transaction; leave it out`)
  }
  if (store?.strategy === 'inbox' || store?.strategy === 'offsets') problems.push(...problemsWithoutClaim(options))
  if (store?.strategy !== 'offsets') return problems
  if (typeof store.positions?.next !== 'function') {
    problems.push('store: expected one of strategy offsets to have positions, got none')
  }
  for (const [option, why] of NOT_WITH_OFFSETS) {
    if (options[option] !== undefined) problems.push(`${option}: leave it out with a store of strategy offsets: ${why}`)
  }
  return problems
}

/** Strategies `inbox` and `offsets`. */
function problemsWithoutClaim({ store, mode, onStoreDown }: AnyOptions): string[] {
  const problems: string[] = []
  const why = `a store of strategy ${store?.strategy} opens the transaction of the handler, so no handler runs without it`
  if (mode === 'observe') {
    problems.push(
      `mode: expected 'enforce', got 'observe': ${why}. To observe, take a store of strategy lease, such as postgresLease({ pool })`,
    )
  }
  if (onStoreDown === 'run-unprotected') {
    problems.push(
      `onStoreDown: expected 'pause', got 'run-unprotected': ${why}. Leave it out, or take a store of strategy lease`,
    )
  }
  return problems
}

export const LARGEST_RESULT: number = 1024 * 1024

function problemsOfRemembering(options: AnyOptions): string[] {
  const { rememberResult, rememberFailure, sealResult, maxResultBytes = DEFAULTS.maxResultBytes } = options
  const problems: string[] = []
  if (rememberResult !== undefined) checkOneOf('rememberResult', rememberResult, [true, false], problems)
  if (rememberFailure !== undefined) checkFunction('rememberFailure', rememberFailure, problems)
  if (sealResult !== undefined && (typeof sealResult?.seal !== 'function' || typeof sealResult.open !== 'function')) {
    problems.push('sealResult: expected an object with the functions seal and open')
  }
  if (maxResultBytes > LARGEST_RESULT) {
    problems.push(
      `maxResultBytes: expected at most ${LARGEST_RESULT}, got ${maxResultBytes}: keep a reference to what is larger`,
    )
  }
  const used = (['rememberResult', 'rememberFailure'] as const).filter((name) => Boolean(options[name]))
  for (const name of used) {
    if (options.handleBatch !== undefined) {
      problems.push(
        `${name}: leave it out with handleBatch, which returns and throws for all of its messages; use handle`,
      )
    }
    if (options.store?.strategy === 'lease' && options.store.marksFirst === true) {
      problems.push(`${name}: leave it out with a store that marks before the handler: there is nothing to keep yet`)
    }
    if (options.store?.strategy === 'offsets') {
      problems.push(
        `${name}: leave it out with a store of strategy offsets: it keeps one position, and nothing of a message`,
      )
    }
  }
  return problems
}

function problemsOfPolicies(options: AnyOptions): string[] {
  const { onInDoubt, onBeyondRetention, purge, mode, onStoreDown, hold } = options
  const problems = problemsOfWhenBusy(options.whenBusy)
  if (onBeyondRetention !== undefined) {
    checkOneOf('onBeyondRetention', onBeyondRetention, ['run', 'park', 'skip'], problems, JSON.stringify)
  }
  if (mode !== undefined) checkOneOf('mode', mode, ['enforce', 'observe'], problems, JSON.stringify)
  if (onStoreDown !== undefined) {
    checkOneOf('onStoreDown', onStoreDown, ['pause', 'run-unprotected'], problems, JSON.stringify)
  }
  if (hold !== undefined) checkOneOf('hold', hold, [true, false], problems)
  if (purge !== undefined) checkOneOf('purge', purge, ['background', 'never'], problems, JSON.stringify)
  if (onInDoubt !== undefined && typeof onInDoubt !== 'function' && onInDoubt !== 'rerun' && onInDoubt !== 'park') {
    problems.push(`onInDoubt: expected 'rerun', 'park' or a function, got ${JSON.stringify(onInDoubt)}`)
  }
  return problems
}

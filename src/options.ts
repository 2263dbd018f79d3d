import type { Backoff } from './core/backoff.ts'
import type { InDoubtPolicy } from './core/decision.ts'
import type { DurationMs } from './core/units.ts'
import { json, type Decode, type StandardSchema } from './decode.ts'
import { ConfigError } from './errors.ts'
import { standardId, type IdExtractor } from './message-id.ts'
import type { Logger } from './ports/logger.ts'
import type { Message } from './ports/message.ts'
import type { Observer } from './ports/observer.ts'
import type { Store } from './ports/store.ts'

/** What every handler gets. */
interface HandlerContextBase<Payload> {
  readonly message: Message
  /** Decoded and, with a `schema`, checked. */
  readonly payload: Payload
  /** Aborts when the lease is lost, the partition or channel is gone, the handler timed out, or the stop deadline passed. */
  readonly signal: AbortSignal
  /** 43 characters, the same in every attempt: hand it to a provider that deduplicates on it. No personal data in it. */
  readonly idempotencyKey: string
  /** Counts from 1, durably, before the handler starts. */
  readonly attempt: number
  readonly log: Logger
}

/** What the strategy of the store adds: a transaction (inbox), or a fence (lease). Never both. */
type StrategyContext<Tx> = [Tx] extends [never]
  ? {
      /**
       * Grows with each claim of the message while its record lives. Hand it to whatever can compare it. After the store
       * lost the record, or retention ended, it starts again at 1.
       */
      readonly fence: number
    }
  : {
      /** The transaction that the mark is written in. Revoked when the handler ends or is aborted. */
      readonly tx: Tx
    }

export type HandlerContext<Payload, Tx = never> = HandlerContextBase<Payload> & StrategyContext<Tx>

type BatchItemFence<Tx> = [Tx] extends [never] ? { readonly fence: number } : unknown

/** One fresh message of a batch. */
export type BatchItem<Payload, Tx = never> = Omit<HandlerContextBase<Payload>, 'signal' | 'log'> & BatchItemFence<Tx>

export type BatchContext<Payload, Tx = never> = {
  /** Fresh messages only, in the order of their lanes. */
  readonly messages: readonly BatchItem<Payload, Tx>[]
  readonly signal: AbortSignal
  readonly log: Logger
} & ([Tx] extends [never] ? unknown : { readonly tx: Tx })

/** The effect, for one message or for many. Give exactly one. */
export type Handling<Payload, Tx> =
  | {
      /**
       * Runs the effect of one message. A throw before `signal` aborted asserts that no effect happened and none will; throw
       * `OutcomeUnknownError` where one may have, `NoEffectError` after an abort that surely had none, `TerminalError` where
       * no further attempt helps.
       */
      readonly handle: (context: HandlerContext<Payload, Tx>) => unknown
      readonly handleBatch?: never
    }
  | {
      /**
       * Runs the effects of many fresh messages: with an inbox the fast path, one transaction for all. If it throws, each
       * message runs again alone. On a lease the whole batch is in doubt when the process dies, and a throw after a part of the
       * effects must be an `OutcomeUnknownError`: a plain one asserts that none of them happened.
       */
      readonly handleBatch: (context: BatchContext<Payload, Tx>) => unknown
      readonly handle?: never
    }

/** The answer to "did it happen?" for a message in doubt. */
export type Reconciled = 'happened' | 'did-not-happen' | 'unknown'

export interface ConsumerSettings<Decoded, Payload, Tx> {
  /** Part of the scope, so of every key: another name handles everything again. 1 to 200 characters. */
  readonly name: string
  /** Where records live. */
  readonly store: Store<Tx>
  /**
   * The business identity. Not with a store of strategy `offsets`, where a message is its partition and offset.
   * @defaultValue the first of the usual places that is there (`standardId()`)
   */
  readonly id?: IdExtractor<Decoded>
  /** From raw bytes, after the digest was taken. @defaultValue `json()` */
  readonly decode?: Decode<Decoded>
  /** Any Standard Schema: the payload is typed and checked. What fails it is set aside and dead-lettered. */
  readonly schema?: StandardSchema<Decoded, Payload>
  /**
   * Handler slots of a lease: messages claimed at once, in batches or one by one, which is also the most that a crash can
   * repeat. An inbox has `transactions` instead. @defaultValue 64
   */
  readonly concurrency?: number
  /** Inbox: transactions open at once, each on its own connection. @defaultValue 4 */
  readonly transactions?: number
  /** Messages that share a transaction or a `handleBatch` call at most. @defaultValue 100, with `handleBatch` 500 */
  readonly batchSize?: number
  /**
   * Deliveries of one Kafka partition, or one queue, taken and not yet settled; past it that partition or queue is paused,
   * until half is left. @defaultValue 2000
   */
  readonly maxInFlight?: number
  /**
   * How long a claim holds without renewal. Shorter: a dead owner is noticed sooner, but a long pause of the process loses
   * the claim. @defaultValue 30000
   */
  readonly leaseMs?: DurationMs
  /** How often running claims are renewed, in batches. @defaultValue a third of `leaseMs` */
  readonly renewEveryMs?: DurationMs
  /** How long `done` is kept. Must be longer than the broker can redeliver. @defaultValue 7 days */
  readonly retentionMs?: DurationMs
  /** A handler that runs longer is aborted; what it did is in doubt. @defaultValue 60000 */
  readonly handlerTimeoutMs?: DurationMs
  /** How long an aborted handler may take to end; after that it counts as stuck and health is not live. @defaultValue 5000 */
  readonly graceMs?: DurationMs
  /** Handler starts, counted in the store, before a message is set aside and dead-lettered. @defaultValue 5 */
  readonly maxAttempts?: number
  /** Delay between attempts: exponential with jitter, in the message's lane. @defaultValue 200 ms to 30 s */
  readonly retry?: Partial<Backoff>
  /** Only `dead-letter` for now: a message without an identity is never merged with another and never dropped. */
  readonly onMissingId?: 'dead-letter'
  /**
   * Same ID, other payload. `duplicate` compares no digests: for senders whose re-sends differ.
   * @defaultValue `dead-letter`
   */
  readonly onConflict?: 'dead-letter' | 'duplicate'
  /**
   * Lease only. A message whose effect may or may not have happened: run it again, set it aside for a person, or ask.
   * @defaultValue `rerun`
   */
  readonly onInDoubt?:
    | 'rerun'
    | 'park'
    | ((message: Message, idempotencyKey: string) => Reconciled | Promise<Reconciled>)
  /** Fail closed: the source pauses, and resumes by itself. */
  readonly onStoreDown?: 'pause'
  /** Any pino-shaped logger. No payload and no raw ID is logged. @defaultValue none */
  readonly log?: Logger
  /** Gets every outcome and every event. Must not throw, must not block. */
  readonly observe?: Observer
  /** Replaces consumer group or queue, origin topic and name in the keys. Set it before a group is renamed or replayed. */
  readonly scope?: string
}

export type ConsumerOptions<Decoded, Payload, Tx> = ConsumerSettings<Decoded, Payload, Tx> & Handling<Payload, Tx>

const DAY_MS = 86_400_000

/** The only place with a default. */
export const DEFAULTS: {
  readonly concurrency: number
  readonly transactions: number
  readonly batchSize: number
  readonly handleBatchSize: number
  readonly maxInFlight: number
  readonly leaseMs: DurationMs
  readonly retentionMs: DurationMs
  readonly handlerTimeoutMs: DurationMs
  readonly graceMs: DurationMs
  readonly maxAttempts: number
  readonly retry: Backoff
  readonly onMissingId: 'dead-letter'
  readonly onConflict: 'dead-letter' | 'duplicate'
  readonly onInDoubt: 'rerun' | 'park'
  readonly onStoreDown: 'pause'
  readonly quietMs: DurationMs
  readonly storeRetry: Backoff
  readonly publishRetry: Backoff
} = {
  concurrency: 64,
  transactions: 4,
  batchSize: 100,
  handleBatchSize: 500,
  maxInFlight: 2000,
  leaseMs: 30_000,
  retentionMs: 7 * DAY_MS,
  handlerTimeoutMs: 60_000,
  graceMs: 5_000,
  maxAttempts: 5,
  retry: { initialMs: 200, maxMs: 30_000 },
  onMissingId: 'dead-letter',
  onConflict: 'dead-letter',
  onInDoubt: 'rerun',
  onStoreDown: 'pause',
  quietMs: 2_000,
  storeRetry: { initialMs: 50, maxMs: 5_000 },
  publishRetry: { initialMs: 200, maxMs: 30_000 },
}

/** A consumer's options, complete and checked. Types of payload and transaction are erased: the pipeline never looks inside. */
export interface ResolvedConsumer {
  readonly name: string
  readonly store: Store<unknown>
  readonly id: IdExtractor
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
  readonly retry: Backoff
  readonly onConflict: 'dead-letter' | 'duplicate'
  readonly onInDoubt: InDoubtPolicy
  readonly reconcile: ((message: Message, idempotencyKey: string) => Reconciled | Promise<Reconciled>) | undefined
  readonly log: Logger
  readonly observe: Observer
  readonly scope: string | undefined
}

/** The logger of a consumer that was given none. */
export const SILENT: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

const LEVELS = ['debug', 'info', 'warn', 'error'] as const

/** Every option there is: a misspelt one would silently leave its default in force. */
const KNOWN_OPTIONS: Record<keyof ConsumerSettings<unknown, unknown, unknown> | 'handle' | 'handleBatch', true> = {
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
  retry: true,
  onMissingId: true,
  onConflict: true,
  onInDoubt: true,
  onStoreDown: true,
  log: true,
  observe: true,
  scope: true,
}

/** Checks every bound and relation and reports all problems in one error. @throws ConfigError `CONFIG_INVALID` */
export function resolveOptions<Decoded, Payload, Tx>(options: ConsumerOptions<Decoded, Payload, Tx>): ResolvedConsumer {
  const problems: string[] = []
  const leaseMs = options.leaseMs ?? DEFAULTS.leaseMs
  const resolved = {
    concurrency: options.concurrency ?? DEFAULTS.concurrency,
    transactions: options.transactions ?? DEFAULTS.transactions,
    batchSize: options.batchSize ?? (options.handleBatch ? DEFAULTS.handleBatchSize : DEFAULTS.batchSize),
    maxInFlight: options.maxInFlight ?? DEFAULTS.maxInFlight,
    leaseMs,
    renewEveryMs: options.renewEveryMs ?? Math.floor(leaseMs / 3),
    retentionMs: options.retentionMs ?? DEFAULTS.retentionMs,
    handlerTimeoutMs: options.handlerTimeoutMs ?? DEFAULTS.handlerTimeoutMs,
    graceMs: options.graceMs ?? DEFAULTS.graceMs,
    maxAttempts: options.maxAttempts ?? DEFAULTS.maxAttempts,
  }
  const retry = { ...DEFAULTS.retry, ...options.retry }
  const { store, onInDoubt = DEFAULTS.onInDoubt } = options

  for (const [name, value] of Object.entries({
    ...resolved,
    'retry.initialMs': retry.initialMs,
    'retry.maxMs': retry.maxMs,
  })) {
    if (!Number.isSafeInteger(value) || value < 1)
      problems.push(`${name}: expected a whole number from 1, got ${String(value)}`)
  }
  if (typeof options.name !== 'string' || options.name.length === 0 || options.name.length > 200) {
    problems.push(`name: expected 1 to 200 characters, got ${JSON.stringify(options.name)}`)
  }
  if (options.scope !== undefined && (typeof options.scope !== 'string' || options.scope.length === 0)) {
    problems.push(`scope: expected text, got ${JSON.stringify(options.scope)}`)
  }
  if (typeof store?.claim !== 'function') {
    problems.push('store: expected a store such as postgresInbox({ pool }), redisLease({ redis }) or memoryStore()')
  }
  if ((options.handle === undefined) === (options.handleBatch === undefined)) {
    problems.push('handle, handleBatch: expected exactly one of the two')
  }
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(KNOWN_OPTIONS, name))
      problems.push(`${name}: unknown option; expected one of ${Object.keys(KNOWN_OPTIONS).join(', ')}`)
  }
  const missing = LEVELS.filter((level) => options.log !== undefined && typeof options.log?.[level] !== 'function')
  if (missing.length > 0) problems.push(`log: expected a logger such as pino(), got one without ${missing.join(', ')}`)
  for (const name of ['handle', 'handleBatch', 'id', 'decode', 'observe'] as const) {
    const given: unknown = options[name]
    if (given !== undefined && typeof given !== 'function')
      problems.push(`${name}: expected a function, got ${typeof given}`)
  }
  if (options.schema !== undefined && typeof options.schema['~standard']?.validate !== 'function') {
    problems.push('schema: expected a Standard Schema, such as one of zod, valibot or arktype')
  }
  if (resolved.renewEveryMs >= leaseMs) {
    problems.push(
      `renewEveryMs: expected less than leaseMs (${leaseMs}), got ${resolved.renewEveryMs}: a lease would end before its renewal`,
    )
  }
  const longestRunMs = leaseMs + resolved.handlerTimeoutMs + resolved.graceMs
  if (resolved.retentionMs <= longestRunMs) {
    problems.push(
      `retentionMs: expected more than leaseMs + handlerTimeoutMs + graceMs (${leaseMs} + ${resolved.handlerTimeoutMs} + ${resolved.graceMs}), ` +
        `got ${resolved.retentionMs}: a record would be forgotten while its handler runs`,
    )
  }
  for (const name of Object.keys(options.retry ?? {})) {
    if (name !== 'initialMs' && name !== 'maxMs')
      problems.push(`retry.${name}: unknown option; expected initialMs or maxMs`)
  }
  if (retry.initialMs > retry.maxMs) {
    problems.push(`retry: expected initialMs <= maxMs, got ${retry.initialMs} > ${retry.maxMs}`)
  }
  if (resolved.maxInFlight < resolved.concurrency) {
    problems.push(
      `maxInFlight: expected at least concurrency (${resolved.concurrency}), got ${resolved.maxInFlight}: slots would stay empty`,
    )
  }
  if ((store?.strategy === 'inbox' || store?.strategy === 'offsets') && options.onInDoubt !== undefined) {
    const subject = store.strategy === 'inbox' ? 'an inbox' : 'a store of strategy offsets'
    problems.push(`onInDoubt: ${subject} knows no doubt, effect and mark are one transaction; leave it out`)
  }
  if (store?.strategy === 'offsets') {
    if (typeof store.positions?.next !== 'function') {
      problems.push('store: expected one of strategy offsets to have positions, got none')
    }
    for (const [option, why] of [
      [
        'id',
        'a message is known by its partition and offset. Where senders repeat messages use postgresInbox({ pool })',
      ],
      ['onMissingId', 'a message is known by its partition and offset, which none lacks'],
      ['onConflict', 'nothing else can lie at the same partition and offset'],
    ] as const) {
      if (options[option] !== undefined)
        problems.push(`${option}: leave it out with a store of strategy offsets: ${why}`)
    }
  }
  if (typeof onInDoubt !== 'function' && onInDoubt !== 'rerun' && onInDoubt !== 'park') {
    problems.push(`onInDoubt: expected 'rerun', 'park' or a function, got ${JSON.stringify(onInDoubt)}`)
  }
  if (options.onConflict !== undefined && options.onConflict !== 'dead-letter' && options.onConflict !== 'duplicate') {
    problems.push(`onConflict: expected 'dead-letter' or 'duplicate', got ${JSON.stringify(options.onConflict)}`)
  }
  if (options.onMissingId !== undefined && options.onMissingId !== 'dead-letter') {
    problems.push(`onMissingId: expected 'dead-letter', got ${JSON.stringify(options.onMissingId)}`)
  }
  if (options.onStoreDown !== undefined && options.onStoreDown !== 'pause') {
    problems.push(`onStoreDown: expected 'pause', got ${JSON.stringify(options.onStoreDown)}`)
  }
  if (problems.length > 0)
    throw new ConfigError(problems.map((problem) => `consumer ${JSON.stringify(options.name)}: ${problem}`))

  return Object.freeze({
    name: options.name,
    store,
    id: (options.id ?? standardId()) as IdExtractor,
    decode: options.decode ?? json(),
    schema: options.schema,
    handle: options.handle as ResolvedConsumer['handle'],
    handleBatch: options.handleBatch as ResolvedConsumer['handleBatch'],
    ...resolved,
    retry,
    onConflict: options.onConflict ?? DEFAULTS.onConflict,
    onInDoubt: typeof onInDoubt === 'function' ? 'reconcile' : onInDoubt,
    reconcile: typeof onInDoubt === 'function' ? onInDoubt : undefined,
    log: options.log ?? SILENT,
    observe: options.observe ?? (() => {}),
    scope: options.scope,
  })
}

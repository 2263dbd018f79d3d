import type { Backoff } from '../core/backoff.ts'
import {
  ELSEWHERE,
  either,
  flag,
  func,
  having,
  listOf,
  millis,
  needed,
  object,
  oneOf,
  or,
  plainText,
  whole,
  where,
  nowCalled,
  placed,
} from '../foundation/options.ts'
import type { Table } from '../foundation/options.ts'
import { ID, ON_CONFLICT } from '../identity/identities.ts'
import type { Logger } from '../ports/logger.ts'
import type { Observer } from '../ports/observer.ts'
import { json } from './decode.ts'
import { SCOPE } from './former-names.ts'
import { LIMIT } from './limit.ts'
import type { ConsumerOptions } from './options.ts'
import { WHEN_BUSY } from './when-busy.ts'

/** Types of payload and transaction are erased. */
export type AnyConsumerOptions = ConsumerOptions<unknown, unknown, unknown>

export type WithoutDefault =
  | 'id'
  | 'payloadSchema'
  | 'handle'
  | 'handleBatch'
  | 'batchSize'
  | 'maxInFlight'
  | 'renewEveryMs'
  | 'whenBusy'
  | 'onConflict'
  | 'rememberFailure'
  | 'sealResult'
  | 'limit'
  | 'observe'
  | 'trace'
  | 'scope'

type Reconcile = Extract<AnyConsumerOptions['onInDoubt'], (...given: never[]) => unknown>

/** The logger of a consumer without the option `log`. */
export const SILENT: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

const DAY_MS = 86_400_000

const BACKOFF: Table<Partial<Backoff>> = { initialMs: or(200, millis()), maxMs: or(30_000, millis()) }

/** Options of `runKafka` and `runRabbit`, which this house does not see. Those that it shares with them are its own. */
const OF_THE_RUN = placed(
  [
    'ackBatch',
    'commitEveryMs',
    'consumerConfig',
    'consumerTimeoutMs',
    'deadLetter',
    'group',
    'lane',
    'leaveAfterMs',
    'maxBytesInFlight',
    'maxWatermarkLag',
    'order',
    'partitionsConsumedConcurrently',
    'prefetch',
    'queue',
    'queueType',
    'retry',
    'setup',
    'singleActiveConsumer',
    'startAt',
    'topics',
  ],
  'give it to what runs the consumer: runKafka(), runRabbit()',
)

/** The options of a consumer. Those of `once()` with the same names have the same rules. */
export const CONSUMER: Table<AnyConsumerOptions, WithoutDefault> = {
  name: needed(plainText({ most: 200 })),
  store: needed(having('a store such as postgresInbox({ pool }), redisLease({ redis }) or memoryStore()', 'claim')),
  id: ID,
  decode: or(json(), func()),
  payloadSchema: where('a Standard Schema, such as one of zod, valibot or arktype', (value) => hasValidate(value)),
  handle: func(),
  handleBatch: func(),
  concurrency: or(64, whole()),
  transactions: or(4, whole()),
  batchSize: whole(),
  maxInFlight: whole(),
  leaseMs: or(30_000, millis({ least: 100 }, 'it is renewed at a third, which needs a round trip to the store')),
  renewEveryMs: millis(),
  // A later end of a record is beyond what databases keep as a time.
  retentionMs: or(7 * DAY_MS, whole({ most: 100 * 365 * DAY_MS })),
  handlerTimeoutMs: or(60_000, millis()),
  graceMs: or(5_000, millis()),
  maxAttempts: or(5, whole()),
  limit: LIMIT,
  maxRetryLater: or(20, whole({ least: 0 })),
  backoff: or({}, object(BACKOFF)),
  onConflict: ON_CONFLICT,
  onInDoubt: or('rerun', either(oneOf('rerun', 'park'), func<Reconcile>())),
  onBeyondRetention: or('run', oneOf('run', 'park', 'skip')),
  purge: or('background', oneOf('background', 'never')),
  mode: or('enforce', oneOf('enforce', 'observe')),
  onStoreDown: or('pause', oneOf('pause', 'run-unprotected')),
  hold: or(true, flag()),
  whenBusy: WHEN_BUSY,
  rememberResult: or(false, flag()),
  maxResultBytes: or(16 * 1024, whole({ most: 1024 * 1024 }, 'keep a reference to what is larger')),
  rememberFailure: func(),
  sealResult: having('an object with the functions seal and open', 'seal', 'open'),
  log: or(SILENT, having('a logger such as pino()', 'debug', 'info', 'warn', 'error')),
  logIds: or(false, flag()),
  observe: either(func<Observer>(), listOf(func<Observer>())),
  trace: having('what otelTracing() returns', 'begin'),
  scope: SCOPE,
  [ELSEWHERE]: { ...OF_THE_RUN, schema: nowCalled('payloadSchema') },
}

/** For `ELSEWHERE` of what runs a consumer: options of the consumer itself. */
export const OF_THE_CONSUMER: Readonly<Record<string, string>> = placed(
  Object.keys(CONSUMER),
  'give it to defineConsumer()',
)

function hasValidate(schema: unknown): boolean {
  const { '~standard': standard } = (schema ?? {}) as { readonly '~standard'?: { readonly validate?: unknown } }
  return typeof standard?.validate === 'function'
}

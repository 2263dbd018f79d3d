/** Targets of hostile options: functions that take options. The given options are merged over valid ones. */
export type Target =
  | 'defineConsumer'
  | 'postgresInbox'
  | 'postgresLease'
  | 'postgresOffsets'
  | 'pgliteInbox'
  | 'mysqlInbox'
  | 'mysqlLease'
  | 'redisLease of ioredis'
  | 'redisLease of node-redis'
  | 'withDoneCache'
  | 'runKafka'
  | 'runRabbit'

/** Options that must be refused with a `ConfigError`, before anything is opened. */
export interface HostileConfiguration {
  readonly target: Target
  readonly name: string
  readonly options: Readonly<Record<string, unknown>>
  /** The option that the problem must name. */
  readonly blames: string
}

const NO_NUMBERS: Readonly<Record<string, unknown>> = {
  zero: 0,
  negative: -1,
  'a fraction': 1.5,
  'not a number': Number.NaN,
  infinite: Number.POSITIVE_INFINITY,
  'minus infinite': Number.NEGATIVE_INFINITY,
  text: '5',
  'beyond 2^53': 2 ** 53,
  null: null,
  bigint: 5n,
  'an array of one': [5],
  true: true,
}

const NO_IDENTIFIERS: Readonly<Record<string, unknown>> = {
  'of 64 bytes': 'a'.repeat(64),
  'of 64 bytes, another, alike in the first 63': `${'a'.repeat(63)}b`,
  'of 1000 bytes': 'a'.repeat(1_000),
  empty: '',
  'upper case': 'Orders',
  'a digit before': '1orders',
  'a dash': 'my-orders',
  'a dot': 'public.orders',
  'a quote': 'a"; drop schema public; --',
  'a NUL': 'a\0b',
  'a line end behind': 'orders\n',
  'a space': 'a b',
  'a letter of two bytes': 'bestellungen\u00E4',
  'of the system': 'pg_catalog',
  'a number': 7,
  'an array': ['orders'],
}

const of = (target: Target, blames: string, given: Readonly<Record<string, unknown>>): HostileConfiguration[] =>
  Object.entries(given).map(([name, value]) => ({
    target,
    blames,
    name: `${blames} ${name}`,
    options: { [blames]: value },
  }))

const one = (
  target: Target,
  blames: string,
  name: string,
  options: HostileConfiguration['options'],
): HostileConfiguration => ({
  target,
  blames,
  name,
  options,
})

/** Options that must be refused. Names are unique within a target. */
export const CONFIGURATIONS: readonly HostileConfiguration[] = [
  ...['concurrency', 'leaseMs', 'retentionMs', 'maxAttempts', 'maxInFlight', 'handlerTimeoutMs'].flatMap((option) =>
    of('defineConsumer', option, without(NO_NUMBERS, 'null')),
  ),
  ...of('defineConsumer', 'name', {
    empty: '',
    missing: undefined,
    'too long': 'n'.repeat(201),
    'a number': 7,
    'an object': {},
  }),
  ...of('defineConsumer', 'scope', { empty: '', 'a number': 7, 'an array': ['a'], false: false }),
  ...of('defineConsumer', 'store', {
    missing: undefined,
    null: null,
    'a client': { query: () => {} },
    text: 'postgres://',
  }),
  ...of('defineConsumer', 'id', { text: 'message-id', 'an array': ['message-id'] }),
  one('defineConsumer', 'renewEveryMs', 'renewal as long as the lease', { leaseMs: 10_000, renewEveryMs: 10_000 }),
  one('defineConsumer', 'renewEveryMs', 'renewal longer than the lease', { leaseMs: 10_000, renewEveryMs: 20_000 }),
  one('defineConsumer', 'retentionMs', 'retention shorter than two attempts', { retentionMs: 60_000 }),
  one('defineConsumer', 'maxInFlight', 'less in flight than slots', { maxInFlight: 3, concurrency: 4 }),
  one('defineConsumer', 'maxAttemps', 'a misspelt option', { maxAttemps: 3 }),
  one(
    'defineConsumer',
    '__proto__',
    'an option named __proto__',
    Object.fromEntries([['__proto__', { maxAttempts: 0 }]]),
  ),
  one('defineConsumer', 'constructor', 'an option named constructor', { constructor: Object }),
  one('defineConsumer', 'backoff.initialMs', 'a retry at once', { backoff: { initialMs: 0 } }),
  one('defineConsumer', 'backoff', 'a retry that ends before it begins', { backoff: { initialMs: 2, maxMs: 1 } }),
  one('defineConsumer', 'onConflict', 'another word for a conflict', { onConflict: 'skip' }),
  ...(['postgresInbox', 'postgresLease', 'postgresOffsets', 'pgliteInbox'] as const).flatMap((target) =>
    of(target, 'schema', NO_IDENTIFIERS),
  ),
  ...(['mysqlInbox', 'mysqlLease'] as const).flatMap((target) =>
    of(target, 'database', {
      'of 65 bytes': 'a'.repeat(65),
      empty: '',
      'a backquote': 'a`; drop database b; --',
      'a dot': 'a.b',
      'a NUL': 'a\0b',
      'a line end behind': 'orders\n',
      'a letter of two bytes': 'bestellungen\u00E4',
      'a number': 7,
    }),
  ),
  ...(['redisLease of ioredis', 'redisLease of node-redis'] as const).flatMap((target) => [
    ...of(target, 'prefix', { empty: '', 'a hash tag': 'a{b}', 'a number': 7, null: null }),
    ...of(target, 'shards', without(NO_NUMBERS, 'null')),
  ]),
  ...of('withDoneCache', 'max', without(NO_NUMBERS, 'null')),
  ...of('withDoneCache', 'ttlMs', NO_NUMBERS),
  ...of('runKafka', 'group', { empty: '', missing: undefined, 'a number': 7 }),
  ...of('runKafka', 'topics', {
    none: [],
    'a pattern': [/orders/],
    'a topic with a slash': ['a/b'],
    'a topic with a NUL': ['a\0'],
    'a topic of 250 characters': ['t'.repeat(250)],
    'the empty topic': [''],
    'its own dead letters': ['t', 't.dead-letter'],
  }),
  ...of('runKafka', 'commitEveryMs', without(NO_NUMBERS, 'null')),
  ...of('runKafka', 'maxBytesInFlight', without(NO_NUMBERS, 'null')),
  ...of('runRabbit', 'queue', { empty: '', missing: undefined, 'of 256 bytes': 'q'.repeat(256), 'a number': 7 }),
  ...of('runRabbit', 'prefetch', without(NO_NUMBERS, 'null')),
  ...Object.entries({ 'the queue itself': 'orders', empty: '', 'of 256 bytes': 'q'.repeat(256) }).map(([name, queue]) =>
    one('runRabbit', 'deadLetter.queue', name, { deadLetter: { queue } }),
  ),
  one('runRabbit', 'retry', 'no way to retry', { retry: {} }),
  one('runRabbit', 'retry.delayQueues', 'no delay', { retry: { delayQueues: [] } }),
  one('runRabbit', 'retry.delayQueues', 'a delay of nothing', { retry: { delayQueues: [0] } }),
]

function without(values: Readonly<Record<string, unknown>>, name: string): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(values).filter(([other]) => other !== name))
}

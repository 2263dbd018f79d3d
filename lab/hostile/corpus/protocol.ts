import { HERE, Raw, bytes, type Carrier, type HostileEntry, type HostileMessage, type Must } from '../entry.ts'

const BROKEN_255 = new Raw(Buffer.alloc(255, 0xff))

/** Copies, forged and true; positions; properties; and handlers that fail in odd ways. */
export const PROTOCOL: readonly HostileEntry[] = [
  ...handlers({
    'fails once': 'run',
    fails: 'attempts-spent',
    'is sure to fail': 'handler-failed',
    'throws null': 'attempts-spent',
    'throws undefined': 'attempts-spent',
    'throws what throws': 'attempts-spent',
    'throws an error that throws': 'attempts-spent',
    'throws a revoked proxy': 'attempts-spent',
    'throws odd text': 'attempts-spent',
    'throws a name like a header': 'attempts-spent',
  }),
  {
    name: 'retry-later: a further delivery while the first waits is the same message',
    effect: 'fails once',
    messages: Array.from({ length: 3 }, (_, n) => ({
      must: n === 0 ? ('run' as const) : { same: 0 },
      headers: { 'message-id': 'retried and repeated' },
    })),
  },
  ...forged('kafka', {
    'origin: this topic, so a copy': [{ 'consume-once-origin-topic': HERE }, { same: 0 }],
    'origin: another topic, so another message': [{ 'consume-once-origin-topic': 'elsewhere' }, 'run'],
    'origin: no name of a topic': [{ 'consume-once-origin-topic': 'a b/../c' }, { same: 0 }],
    'origin: empty': [{ 'consume-once-origin-topic': '' }, { same: 0 }],
    'origin: too long': [{ 'consume-once-origin-topic': 'o'.repeat(250) }, { same: 0 }],
    'origin: broken bytes': [{ 'consume-once-origin-topic': bytes('ff') }, { same: 0 }],
    'origin: a NUL': [{ 'consume-once-origin-topic': 'elsewhere\0' }, { same: 0 }],
    'origin: a name that Spring Cloud Stream writes too': [{ 'x-original-topic': 'elsewhere' }, { same: 0 }],
    'position: negative': [copied({ partition: '-1', offset: '-5', timestamp: '-1' }), { same: 0 }],
    'position: no numbers': [copied({ partition: 'NaN', offset: '1e3', timestamp: '0x10' }), { same: 0 }],
    'position: too large': [
      copied({ partition: '9'.repeat(19), offset: '9'.repeat(30), timestamp: '9'.repeat(19) }),
      { same: 0 },
    ],
    'position: empty': [copied({ partition: '', offset: '', timestamp: '' }), { same: 0 }],
    'position: of Spring, cut short': [
      {
        'consume-once-origin-topic': HERE,
        'consume-once-spring-headers': 'true',
        'kafka_dlt-original-partition': bytes('00'),
        'kafka_dlt-original-offset': bytes('ffffffff'),
      },
      { same: 0 },
    ],
    'position: of Spring, negative': [
      {
        'consume-once-origin-topic': HERE,
        'consume-once-spring-headers': 'true',
        'kafka_dlt-original-partition': bytes('ffffffff'),
        'kafka_dlt-original-offset': Buffer.alloc(8, 0xff),
      },
      { same: 0 },
    ],
    'due in 200 years': [
      { 'consume-once-origin-topic': HERE, 'consume-once-not-before': '7983878400000' },
      { same: 0 },
    ],
    'due never': [{ 'consume-once-origin-topic': HERE, 'consume-once-not-before': 'Infinity' }, { same: 0 }],
    'attempts: many': [{ 'consume-once-origin-topic': HERE, 'consume-once-attempts': '999999' }, { same: 0 }],
    'attempts: fewer than none': [{ 'consume-once-origin-topic': HERE, 'consume-once-attempts': '-1' }, { same: 0 }],
    'a dead letter that was moved back': [
      { 'consume-once-origin-topic': HERE, 'consume-once-reason': 'no-id', 'consume-once-parked': 'true' },
      { same: 0 },
    ],
    'first failure: no time': [
      { 'consume-once-origin-topic': HERE, 'consume-once-first-failure-at': 'long ago' },
      { same: 0 },
    ],
    'first failure: beyond all times': [
      { 'consume-once-origin-topic': HERE, 'consume-once-first-failure-at': '+275761-01-01T00:00:00Z' },
      { same: 0 },
    ],
    'every header of a copy, repeated': [
      Object.fromEntries(
        [
          'consume-once-attempts',
          'consume-once-not-before',
          'consume-once-consumer',
          'consume-once-detail',
          'consume-once-reason',
        ].map((name) => [name, ['1', '2']]),
      ),
      { same: 0 },
    ],
  }),
  ...forged('rabbitmq', {
    'origin: this queue, so a copy': [{ 'consume-once-origin-queue': HERE }, { same: 0 }],
    'origin: another queue, so another message': [{ 'consume-once-origin-queue': 'elsewhere' }, 'run'],
    'origin: empty': [{ 'consume-once-origin-queue': '' }, { same: 0 }],
    'origin: a number': [{ 'consume-once-origin-queue': 7 }, { same: 0 }],
    'origin: a table': [{ 'consume-once-origin-queue': { a: 'b' } }, { same: 0 }],
    'origin: longer than a queue may be named': [{ 'consume-once-origin-queue': 'o'.repeat(256) }, { same: 0 }],
    'origin: 40 kB': [{ 'consume-once-origin-queue': 'o'.repeat(40_000) }, { same: 0 }],
    'exchange and routing key: 20 kB each': [
      { 'consume-once-origin-exchange': 'e'.repeat(20_000), 'consume-once-origin-routing-key': 'r'.repeat(20_000) },
      { same: 0 },
    ],
    'all of the origin: 60 kB': [
      Object.fromEntries(
        ['queue', 'exchange', 'routing-key'].map((what) => [`consume-once-origin-${what}`, 'x'.repeat(20_000)]),
      ),
      { same: 0 },
    ],
    'due in 200 years': [{ 'consume-once-not-before': 7_983_878_400_000 }, { same: 0 }],
    'due at the largest of doubles': [{ 'consume-once-not-before': 1.7e308 }, { same: 0 }],
    'attempts: many': [{ 'consume-once-attempts': 999_999 }, { same: 0 }],
    'attempts: text': [{ 'consume-once-attempts': '-1' }, { same: 0 }],
    'first seen and first failure: no times': [
      { 'consume-once-first-seen-at': 'long ago', 'consume-once-first-failure-at': '+275761-01-01T00:00:00Z' },
      { same: 0 },
    ],
    'a dead letter that was moved back': [
      {
        'consume-once-reason': 'no-id',
        'consume-once-parked': true,
        'consume-once-consumer': 'hostile',
        'consume-once-detail': 'd'.repeat(20_000),
      },
      { same: 0 },
    ],
    'dropped headers': [
      { 'consume-once-headers-dropped': 'h'.repeat(20_000), 'consume-once-publish-id': 'p' },
      { same: 0 },
    ],
    'a tombstone that has a value': [{ 'consume-once-tombstone': true }, { same: 0 }],
    'x-death as text': [{ 'x-death': 'text', 'x-first-death-queue': 'q' }, { same: 0 }],
    'x-death as tables of nonsense': [{ 'x-death': [{ count: -1, queue: HERE }, { count: 2 ** 40 }] }, { same: 0 }],
    'delivered often': [{ 'x-delivery-count': 2 ** 40, 'x-acquired-count': -1 }, { same: 0 }],
    'routed further': [{ CC: ['nowhere-1', 'nowhere-2'], BCC: ['nowhere-3'] }, { same: 0 }],
  }),
  {
    name: 'forged copy: two tombstones that have values, of one ID',
    on: ['rabbitmq'],
    messages: [
      { must: 'run', headers: { 'message-id': 'two tombstones', 'consume-once-tombstone': true }, value: '"one"' },
      {
        must: 'conflict',
        headers: { 'message-id': 'two tombstones', 'consume-once-tombstone': true },
        value: '"other"',
      },
    ],
  },
  ...properties({
    'message ID: empty': { messageId: '' },
    'message ID: blank': { messageId: '   ' },
    'message ID: 255 broken bytes': { messageId: BROKEN_255 },
    'message ID: broken': { messageId: new Raw(Buffer.concat([Buffer.from('property-'), bytes('ff')])) },
    'type: 255 broken bytes': { type: BROKEN_255 },
    'application: 255 broken bytes': { appId: BROKEN_255 },
    'correlation: 255 broken bytes': { correlationId: BROKEN_255 },
    'reply to: 255 broken bytes': { replyTo: BROKEN_255 },
    'content type: 255 broken bytes': { contentType: BROKEN_255 },
    'content encoding: 255 broken bytes': { contentEncoding: BROKEN_255 },
    'content encoding: gzip, of what is none': { contentEncoding: 'gzip' },
    'priority: 255': { priority: 255 },
    'expires in an hour': { expiration: '3600000' },
    'not to be kept': { persistent: false },
    'time: 2^53': { timestamp: 2 ** 53 },
    'time: 2^63': { timestamp: 2 ** 63 },
    'time: the largest of 64 bits that a double has': { timestamp: 2 ** 64 - 2048 },
    'time: all ones': { timestamp: new Raw(Buffer.alloc(8, 0xff)) },
  }),
  {
    name: 'property: message IDs of 255 bytes, the last differs',
    on: ['rabbitmq'],
    id: 'property',
    messages: ['1', '2'].map((last) => ({
      must: 'run',
      headers: {},
      properties: { messageId: `${'m'.repeat(254)}${last}` },
    })),
  },
  {
    name: 'property: message IDs that differ in case and form',
    on: ['rabbitmq'],
    id: 'property',
    messages: ['Prop\u00E9', 'prop\u00E9', 'prope\u0301'].map((messageId) => ({
      must: 'run',
      headers: {},
      properties: { messageId },
    })),
  },
  ...times({ 'of the year 1': 1, 'of 2^52': 2 ** 52 }),
]

function copied(place: {
  readonly partition: string
  readonly offset: string
  readonly timestamp: string
}): Record<string, string> {
  const named = Object.entries(place).map(([what, value]) => [`consume-once-origin-${what}`, value] as const)
  return { 'consume-once-origin-topic': HERE, ...Object.fromEntries(named) }
}

/** A message, the same one with such headers, and one without an ID that has them too: its dead letter must leave. */
function forged(
  on: Carrier,
  given: Readonly<Record<string, readonly [headers: Record<string, unknown>, must: Must]>>,
): HostileEntry[] {
  return Object.entries(given).map(([name, [headers, must]]) => {
    const id = { 'message-id': `${on}/${name}` }
    const messages: HostileMessage[] = [
      { must: 'run', headers: id },
      { must, headers: { ...id, ...headers } },
      { must: 'no-id', headers },
    ]
    return { name: `forged copy, ${on}: ${name}`, on: [on], messages }
  })
}

function handlers(given: Readonly<Record<string, Must>>): HostileEntry[] {
  return Object.entries(given).map(([effect, must]) => ({
    name: `handler: ${effect}`,
    effect,
    messages: [{ must, headers: { 'message-id': `handler ${effect}` } }],
  }))
}

/** Without an ID by this property, so that its dead letter must leave. */
function properties(given: Readonly<Record<string, Readonly<Record<string, unknown>>>>): HostileEntry[] {
  return Object.entries(given).map(([name, one]) => ({
    name: `property, of a message and of its dead letter: ${name}`,
    on: ['rabbitmq'],
    messages: [
      { must: 'run', headers: { 'message-id': `property ${name}` }, properties: one },
      { must: 'no-id', headers: {}, properties: one },
    ],
  }))
}

function times(given: Readonly<Record<string, number>>): HostileEntry[] {
  return Object.entries(given).map(([name, timestamp]) => ({
    name: `time ${name}`,
    on: ['kafka'],
    messages: [
      { must: 'run', headers: { 'message-id': `time ${name}` }, timestamp },
      { must: 'no-id', headers: {}, timestamp },
    ],
  }))
}

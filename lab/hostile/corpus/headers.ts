import { inputs, Raw, bytes, rawText, utf8, type HostileEntry, type HostileMessage } from '../entry.ts'

/** Values that amqplib writes as an AMQP type other than text. */
const typed = (type: string, value: unknown): object => ({ '!': type, value })

/** Each counts as its text. */
const WHOLE_NUMBERS: Readonly<Record<string, unknown>> = {
  number: 700_001,
  'negative number': -700_003,
  'array of numbers': [700_002, 700_002],
}

const WRONG_TYPES: Readonly<Record<string, unknown>> = {
  'number with a fraction': 7.5,
  'number beyond 2^53': 2 ** 60,
  true: true,
  false: false,
  void: null,
  decimal: typed('decimal', { places: 2, digits: 700 }),
  timestamp: typed('timestamp', 1_700_000_000),
  float: typed('float', 0.5),
  table: { id: 'a' },
  'table that looks like text': { length: 1, 0: 'a' },
  'empty table': {},
  'array of tables': [{ id: 'a' }, { id: 'a' }],
  'array of void': [null],
  'array of text and void': ['a', null],
  'array of an array': [['a']],
  'array of arrays, the same': [['a'], ['a']],
  'array of arrays, differing': [['a'], ['b']],
}

const INHERITED = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__'] as const

const many = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`h${n}`, 'v']))

/** Headers around an ID that is as it should be, or in place of it. */
export const HEADERS: readonly HostileEntry[] = [
  ...Object.entries(WRONG_TYPES).map(([name, id]): HostileEntry => ({
    name: `type of the ID header: ${name}`,
    on: ['memory', 'rabbitmq'],
    messages: [{ must: 'no-id', headers: { 'message-id': id } }],
  })),
  ...Object.entries(WHOLE_NUMBERS).map(([name, id]): HostileEntry => ({
    name: `type of the ID header: ${name}`,
    on: ['memory', 'rabbitmq'],
    messages: [{ must: 'run', headers: { 'message-id': id } }],
  })),
  ...Object.entries({ ...WRONG_TYPES, ...WHOLE_NUMBERS }).map(([name, value]): HostileEntry => ({
    name: `type of another header, of a message and of its dead letter: ${name}`,
    on: ['memory', 'rabbitmq'],
    messages: [
      { must: 'run', headers: { 'message-id': `other ${name}`, other: value } },
      { must: 'no-id', headers: { other: value } },
    ],
  })),
  ...INHERITED.flatMap((name): HostileEntry[] => [
    {
      name: `header named ${name}, of a message and of its dead letter`,
      messages: [
        { must: 'run', headers: { 'message-id': `beside ${name}`, ...own(name, 'x') } },
        { must: 'no-id', headers: own(name, 'x') },
      ],
    },
    {
      name: `header named ${name}, repeated`,
      on: ['memory', 'kafka'],
      messages: [{ must: 'run', headers: { 'message-id': `beside repeated ${name}`, ...own(name, ['x', 'y']) } }],
    },
  ]),
  {
    name: 'header __proto__ is a table with the ID',
    on: ['memory', 'rabbitmq'],
    messages: [{ must: 'no-id', headers: own('__proto__', { 'message-id': 'inherited' }) }],
  },
  {
    name: 'nothing inherited is an ID',
    id: 'inherited names',
    messages: [{ must: 'no-id', headers: {} }],
  },
  by('header constructor', 'header constructor', [
    { must: 'run', headers: { constructor: 'made-1' } },
    { must: 'run', headers: { constructor: 'made-2' } },
    { must: { same: 0 }, headers: { constructor: 'made-1' } },
  ]),
  {
    ...by('header __proto__', 'header __proto__', [
      { must: 'run', headers: own('__proto__', 'proto-1') },
      { must: 'run', headers: own('__proto__', 'proto-2') },
      { must: { same: 0 }, headers: own('__proto__', 'proto-1') },
    ]),
    // amqplib sets the prototype of its object instead, and drops values that are not objects.
    on: ['memory', 'kafka'],
  },
  {
    name: 'five hundred headers, of a message and of its dead letter',
    messages: [
      { must: 'run', headers: { ...many(500), 'message-id': 'among five hundred' } },
      { must: 'no-id', headers: many(500) },
    ],
  },
  {
    name: 'five thousand headers, of a message and of its dead letter',
    // kafkajs takes time by the square of their number: some 12 s for these, whatever is done here.
    on: ['memory', 'rabbitmq'],
    messages: [
      { must: 'run', headers: { ...many(5_000), 'message-id': 'among five thousand' } },
      { must: 'no-id', headers: many(5_000) },
    ],
  },
  {
    name: 'a header of 60 kB, of a message and of its dead letter',
    messages: [
      { must: 'run', headers: { 'message-id': 'beside 60 kB', large: 'l'.repeat(60_000) } },
      { must: 'no-id', headers: { large: 'l'.repeat(60_000) } },
    ],
  },
  {
    name: 'a header of 500 kB, of a message and of its dead letter',
    on: ['memory', 'kafka'],
    messages: [
      { must: 'run', headers: { 'message-id': 'beside 500 kB', large: 'l'.repeat(500_000) } },
      { must: 'no-id', headers: { large: 'l'.repeat(500_000) } },
    ],
  },
  ...inputs({
    'header with an empty name': [
      { must: 'run', headers: { 'message-id': 'beside an empty name', '': 'x' } },
      { must: 'no-id', headers: { '': 'x' } },
    ],
    'header with an empty value': [{ must: 'no-id', headers: { other: '', 'message-id': utf8('') } }],
    'header name of 255 bytes': [{ must: 'no-id', headers: { ['n'.repeat(255)]: 'x' } }],
    'header name with NUL, line ends and astral characters': [
      { must: 'no-id', headers: { 'a\0b\r\nmessage-id: c\u{1F4A9}': 'x' } },
    ],
    'header value with NUL, line ends and another header': [
      { must: 'no-id', headers: { other: 'a\0\r\nmessage-id: injected' } },
    ],
    'header of bytes that are no text, of a dead letter': [{ must: 'no-id', headers: { other: bytes('00fffec328') } }],
  }),
  ...onTheWire({
    'text that is not UTF-8': rawText(Buffer.concat([utf8('broken-'), bytes('ff')])),
    'other text that decodes alike': rawText(Buffer.concat([utf8('broken-'), bytes('fe')])),
    'table within tables, 20 deep': nested('F', 20),
    'array within arrays, 20 deep': nested('A', 20),
    'table within tables, 500 deep': nested('F', 500),
    'array within arrays, 1000 deep': nested('A', 1_000),
    'table that says it has another type': table({ '!': 'S int8', value: 'S x' }),
    'table that says it has no type there is': table({ '!': 'S there is none', value: 'S x' }),
    'timestamp of 64 bits': new Raw(Buffer.concat([utf8('T'), Buffer.alloc(8, 0xff), utf8('t'.repeat(0))])),
    'table with a name of broken text': table({ [`broken-\xff`]: 'S x' }),
  }),
]

/** The ID, and in another message a header beside it, are what amqplib reads and would not write. */
function onTheWire(fields: Readonly<Record<string, Raw>>): HostileEntry[] {
  return Object.entries(fields).map(([name, field]) => ({
    name: `field on the wire: ${name}`,
    on: ['rabbitmq'],
    messages: [
      { must: 'no-id', headers: { 'message-id': field } },
      { must: 'run', headers: { 'message-id': `beside a field: ${name}`, other: field } },
      { must: 'no-id', headers: { other: field } },
    ],
  }))
}

function nested(type: 'F' | 'A', depth: number): Raw {
  let inner: Buffer = Buffer.concat([utf8('S'), length(8), utf8('innermost'.slice(0, 8))])
  for (let level = 0; level < depth; level++) {
    const content = type === 'F' ? Buffer.concat([Buffer.from([1]), utf8('f'), inner]) : inner
    inner = Buffer.concat([utf8(type), length(content.length), content])
  }
  return new Raw(inner)
}

/** Values by a letter of their type and their text, names in Latin-1. */
function table(fields: Readonly<Record<string, string>>): Raw {
  const content = Buffer.concat(
    Object.entries(fields).flatMap(([name, value]) => {
      const [named, text] = [Buffer.from(name, 'latin1'), utf8(value.slice(2))]
      return [Buffer.from([named.length]), named, utf8(value.slice(0, 1)), length(text.length), text]
    }),
  )
  return new Raw(Buffer.concat([utf8('F'), length(content.length), content]))
}

function length(bytesThere: number): Buffer {
  const written = Buffer.alloc(4)
  written.writeUInt32BE(bytesThere)
  return written
}

function by(name: string, id: string, messages: readonly HostileMessage[]): HostileEntry {
  return { name: `ID in the ${name}`, id, messages }
}

/** A property of its own, also where assignment would set the prototype. */
function own(name: string, value: unknown): Record<string, unknown> {
  return Object.fromEntries([[name, value]])
}

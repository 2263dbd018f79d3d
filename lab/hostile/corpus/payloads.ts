import { bytes, utf8, values, type HostileEntry } from '../entry.ts'

const DEEP = 100_000
const conflict = (name: string, one: Value, other: Value, on?: HostileEntry['on']): HostileEntry => ({
  name: `same ID, other payload: ${name}`,
  ...(on === undefined ? {} : { on }),
  messages: [
    { must: 'run', headers: { 'message-id': `conflict/${name}` }, value: one },
    { must: 'conflict', headers: { 'message-id': `conflict/${name}` }, value: other },
    { must: { same: 0 }, headers: { 'message-id': `conflict/${name}` }, value: one },
  ],
})

type Value = string | Uint8Array | null

const gzip = bytes('1f8b08000000000000034bcc2c0200ab4f6c0502000000')

/** Values: what JSON is not, what JSON allows, and what must not be taken for the same. */
export const PAYLOADS: readonly HostileEntry[] = [
  ...values('readable payload', 'run', {
    'array, 100,000 deep': `${'['.repeat(DEEP)}${']'.repeat(DEEP)}`,
    'object, 100,000 deep': `${'{"a":'.repeat(DEEP)}1${'}'.repeat(DEEP)}`,
    'a megabyte of text': `"${'m'.repeat(990_000)}"`,
    'a hundred thousand numbers': `[${'7,'.repeat(99_999)}7]`,
    'number of 10,000 digits': `{"n":${'9'.repeat(10_000)}}`,
    'number beyond a double': '{"n":1e999,"m":-1e999}',
    'minus zero': '-0',
    'beyond 2^53': '{"n":9007199254740993}',
    'names twice': '{"a":1,"a":2,"a":{"a":3}}',
    '__proto__ with members': '{"__proto__":{"isAdmin":true},"constructor":{"prototype":{"x":1}}}',
    'toJSON and then': '{"toJSON":"x","then":"y","valueOf":1,"toString":2}',
    'byte order mark before': Buffer.concat([bytes('efbbbf'), utf8('{"a":"marked"}')]),
    'space around': ' \t\r\n{"a":"spaced"}\n\n',
    'escaped NUL and surrogates': String.raw`{"a":"\u0000\ud800\udc00\udfff"}`,
    null: 'null',
    'empty text': '""',
    'empty name': '{"":{"":""}}',
    'U+2028 in text': '"\u2028\u2029"',
    'a replacement character': '"\uFFFD"',
    noncharacters: '"\uFFFE\uFFFF\u{10FFFF}"',
    'SQL and Lua in text': `"'; drop table effect; -- ]] redis.call('FLUSHALL')"`,
  }),
  ...values('unreadable payload', 'undecodable', {
    empty: '',
    'one space': ' ',
    'byte order mark alone': bytes('efbbbf'),
    'two byte order marks': Buffer.concat([bytes('efbbbfefbbbf'), utf8('{}')]),
    'cut short': '{"a":"b',
    'cut in a character': Buffer.concat([utf8('{"a":"'), bytes('c3')]),
    NaN: '{"a":NaN}',
    Infinity: '[Infinity]',
    undefined: 'undefined',
    'single quotes': "{'a':'b'}",
    'comma behind': '{"a":1,}',
    comment: '{"a":1/* b */}',
    'two documents': '{"a":1}{"a":2}',
    'lines of JSON': '{"a":1}\n{"a":2}\n',
    'a number with a zero before': '007',
    'plus sign': '+7',
    hexadecimal: '0x10',
    'tab in text': '"a\tb"',
    'NUL behind': '{"a":1}\0',
    'NULs alone': Buffer.alloc(64),
    'not UTF-8': bytes('7b2261223aff7d'),
    'overlong quote': Buffer.concat([utf8('{"a":'), bytes('c0a2'), utf8('}')]),
    'surrogates encoded': Buffer.concat([utf8('"'), bytes('eda080edb080'), utf8('"')]),
    'UTF-16 with its mark': bytes('fffe7b007d00'),
    'UTF-32': bytes('0000007b0000007d'),
    gzip,
    'a frame of Avro': bytes('0000000007146f72646572'),
    'a megabyte of noise': Buffer.alloc(990_000, 0xff),
    'a megabyte of JSON without its end': `[${'"xxxxxxx",'.repeat(99_000)}`,
    'deep without its end': '['.repeat(DEEP),
    'deep, closed the wrong way': `${'['.repeat(DEEP)}${'}'.repeat(DEEP)}`,
  }),
  ...values('tombstone', 'run', { 'no value at all': null }, { on: ['memory', 'kafka'] }),
  conflict('one byte', '{"a":1}', '{"a":2}'),
  conflict('a space', '{"b":1}', '{"b": 1}'),
  conflict('order of names', '{"c":1,"d":2}', '{"d":2,"c":1}'),
  conflict('form of a number', '1.0', '1'),
  conflict('numbers alike in a double', '9007199254740993', '9007199254740992'),
  conflict('name twice', '{"e":1,"e":2}', '{"e":2}'),
  conflict('escaped and plain', String.raw`"\u0041"`, '"A"'),
  conflict('NFC and NFD', '"caf\u00E9"', '"cafe\u0301"'),
  conflict('byte order mark', '"marked"', Buffer.concat([bytes('efbbbf'), utf8('"marked"')])),
  conflict('a line end', '"line"', '"line"\n'),
  conflict('tombstone and value', null, '"value"', ['memory', 'kafka']),
  conflict('value and tombstone', '"value"', null, ['memory', 'kafka']),
  conflict('null as JSON and tombstone', 'null', null, ['memory', 'kafka']),
  conflict('one that cannot be read', '"good"', '{"bad'),
  conflict('a megabyte, the last byte differs', `"${'z'.repeat(490_000)}a"`, `"${'z'.repeat(490_000)}b"`),
  {
    name: 'same ID, other payload: the first cannot be read, and is given up',
    messages: [
      { must: 'undecodable', headers: { 'message-id': 'conflict/first-unreadable' }, value: '{"bad' },
      { must: 'conflict', headers: { 'message-id': 'conflict/first-unreadable' }, value: '"good"' },
    ],
  },
  {
    name: 'same ID, same payload, other headers, key and time',
    messages: [
      { must: 'run', headers: { 'message-id': 'same/headers', other: '1' }, key: 'one', timestamp: 1_700_000_000_000 },
      { must: { same: 0 }, headers: { 'message-id': 'same/headers', other: '2' }, key: 'two' },
    ],
  },
  {
    name: 'same ID, a hundred times',
    messages: Array.from({ length: 100 }, (_, n) => ({
      must: n === 0 ? ('run' as const) : { same: 0 },
      headers: { 'message-id': 'a hundred times' },
    })),
  },
]

import type { HostileEntry, HostileMessage, Must } from '../entry.ts'

const NEVER_TEXT: readonly string[] = [
  'not a number',
  'number with a fraction',
  'number beyond 2^53',
  'true',
  'false',
  'symbol',
  'array',
  'array of bytes',
  'object',
  'text object',
  'object with toString',
  'object with length',
  'function',
  'date',
  'array buffer',
  'data view',
  'wide array',
  'promise',
  'thenable',
  'null',
  'empty bytes',
  'bytes only by name',
  'revoked proxy',
  'rejected promise',
]

const THROWS: readonly string[] = [
  'throws null',
  'throws undefined',
  'throws a symbol',
  'throws without a prototype',
  'throws what throws',
  'throws an error that throws',
  'throws a revoked proxy',
  'throws odd text',
  'overflows the stack',
]

/** IDs by functions of users: of the wrong type, out of payloads, or thrown. */
export const EXTRACTED_IDS: readonly HostileEntry[] = [
  ...NEVER_TEXT.map((id) => of('extractor returns', id, [{ must: 'no-id', headers: {} }])),
  ...['number', 'bigint'].map((id) => of('extractor returns', id, [{ must: 'run', headers: {} }])),
  ...THROWS.map((id) => of('extractor', id, [{ must: 'no-id', headers: {} }])),
  ...fromPayloads('payload', 'ID in the payload', {
    'number and its text': [
      ['{"id":700011}', 'run'],
      ['{"id":"700011"}', 'conflict'],
    ],
    'number with a fraction': [['{"id":1.5}', 'no-id']],
    'number beyond 2^53': [['{"id":9007199254740993}', 'no-id']],
    null: [['{"id":null}', 'no-id']],
    true: [['{"id":true}', 'no-id']],
    'array of one': [['{"id":["one"]}', 'no-id']],
    object: [['{"id":{"toString":"a"}}', 'no-id']],
    missing: [['{"Id":"a"}', 'no-id']],
    'empty text': [['{"id":""}', 'no-id']],
    blank: [[String.raw`{"id":" \n"}`, 'no-id']],
    'high surrogate alone': [[String.raw`{"id":"\ud800"}`, 'no-id']],
    'low surrogate alone': [[String.raw`{"id":"a\udc00b"}`, 'no-id']],
    'surrogates in the wrong order': [[String.raw`{"id":"\udc00\ud800"}`, 'no-id']],
    'surrogates in the right order': [[String.raw`{"id":"\ud83d\udca9-pair"}`, 'run']],
    NUL: [
      [String.raw`{"id":"a\u0000"}`, 'run'],
      ['{"id":"a"}', 'run'],
    ],
    'twice in one object, the last counts': [
      ['{"id":"first-of-two","id":"last-of-two"}', 'run'],
      ['{"id":"first-of-two"}', 'run'],
    ],
    'longer than an ID may be': [[`{"id":"${'p'.repeat(513)}"}`, 'no-id']],
    'a megabyte': [[`{"id":"${'p'.repeat(900_000)}"}`, 'no-id']],
    'payload is null': [['null', 'no-id']],
    'payload is a number': [['7', 'no-id']],
    'payload is text with a length': [['"id"', 'no-id']],
    'payload cannot be read': [['{"id":', 'undecodable']],
    'payload is empty': [['', 'undecodable']],
    '__proto__ is no way to inherit one': [['{"__proto__":{"id":"inherited"}}', 'no-id']],
  }),
  ...fromPayloads('payload at depth', 'ID in the payload', {
    'a step is missing': [['{"a":{}}', 'no-id']],
    'a step is null': [['{"a":null}', 'no-id']],
    'a step is text': [['{"a":"b"}', 'no-id']],
  }),
  // Two values may have the same text; then the payload distinguishes them, and none is lost.
  ...fromPayloads('payload as text', 'ID by String()', {
    'number and text': [
      ['{"id":101}', 'run'],
      ['{"id":"101"}', 'conflict'],
    ],
    'beyond 2^53': [
      ['{"id":9007199254740992}', 'run'],
      ['{"id":9007199254740993}', 'conflict'],
    ],
    'exponent and plain': [
      ['{"id":1e3}', 'run'],
      ['{"id":1000}', 'conflict'],
    ],
    'zero and minus zero': [
      ['{"id":0}', 'run'],
      ['{"id":-0}', 'conflict'],
    ],
    'missing and the word': [
      ['{}', 'run'],
      ['{"id":"undefined"}', 'conflict'],
    ],
    'two objects': [
      ['{"id":{"a":1}}', 'run'],
      ['{"id":{"b":1}}', 'conflict'],
    ],
    'array and text': [
      ['{"id":["x","y"]}', 'run'],
      ['{"id":"x,y"}', 'conflict'],
    ],
    'null and the word': [
      ['{"id":null}', 'run'],
      ['{"id":"null"}', 'conflict'],
    ],
    'infinite numbers': [
      ['{"id":1e999}', 'run'],
      ['{"id":2e999}', 'conflict'],
    ],
    'object that cannot be text': [['{"id":{"toString":1,"valueOf":1}}', 'no-id']],
  }),
  of('ID by joining', 'joined by a colon', [
    { must: 'run', headers: { a: 'a:b', b: 'c' } },
    // The user joins the parts, so the ID is the same; only the payload can differ.
    { must: { same: 0 }, headers: { a: 'a', b: 'b:c' } },
  ]),
  of('ID by joining, other payload', 'joined by a colon', [
    { must: 'run', headers: { a: 'd:e', b: 'f' }, value: '1' },
    { must: 'conflict', headers: { a: 'd', b: 'e:f' }, value: '2' },
  ]),
  of('ID of a cloud event: source and ID never run into each other', 'cloud event', [
    { must: 'run', headers: { ce_source: 'a:b', ce_id: 'c' } },
    { must: 'run', headers: { ce_source: 'a', ce_id: 'b:c' } },
    { must: 'run', headers: { ce_source: 'a', ce_id: '1:bc' } },
    { must: 'run', headers: { ce_source: 'a1:b', ce_id: 'c' } },
  ]),
  of('ID of a cloud event: the AMQP names are the same event', 'cloud event', [
    { must: 'run', headers: { ce_source: '/amqp', ce_id: '7' } },
    { must: { same: 0 }, headers: { 'cloudEvents:source': '/amqp', 'cloudEvents:id': '7' } },
    { must: { same: 0 }, headers: { cloudEvents_source: '/amqp', cloudEvents_id: '7' } },
  ]),
  of('ID of a cloud event: no source', 'cloud event', [{ must: 'no-id', headers: { ce_id: '8' } }]),
  of('ID of a cloud event: no ID', 'cloud event', [{ must: 'no-id', headers: { ce_source: '/a' } }]),
  of('ID of a cloud event: two sources', 'cloud event', [
    { must: 'no-id', headers: { ce_id: '9', ce_source: ['/a', '/b'] } },
  ]),
  of('ID of a cloud event: empty ID, so one for all of its source', 'cloud event', [
    { must: 'no-id', headers: { ce_id: '', ce_source: '/empty' } },
    { must: 'no-id', headers: { ce_id: '', ce_source: '/empty' } },
  ]),
  of('ID of a cloud event: blank ID', 'cloud event', [{ must: 'no-id', headers: { ce_id: ' ', ce_source: '/blank' } }]),
  of('ID of a cloud event: empty source', 'cloud event', [{ must: 'no-id', headers: { ce_id: '10', ce_source: '' } }]),
  of('usual places: the trace is none', 'standard', [
    { must: 'no-id', headers: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' } },
  ]),
  of('usual places: the first counts, also where it is of no use', 'standard', [
    { must: 'no-id', headers: { 'idempotency-key': ['a', 'b'], id: 'the second' } },
  ]),
  of('partition key as ID: none', 'partition key', [{ must: 'no-id', headers: {} }], ['memory', 'kafka']),
  of(
    'partition key as ID: bytes that decode alike',
    'partition key',
    [
      { must: 'run', headers: {}, key: Buffer.from('k\xff', 'latin1') },
      { must: 'run', headers: {}, key: Buffer.from('k\xfe', 'latin1') },
    ],
    ['memory', 'kafka'],
  ),
  of('ID of one header, asked for by two names', 'one of two headers', [
    { must: 'run', headers: { 'x-request-id': 'asked-1', 'message-id': 'asked-2' } },
    { must: { same: 0 }, headers: { 'x-request-id': 'asked-1' } },
    { must: 'run', headers: { 'message-id': 'asked-2' } },
    { must: 'no-id', headers: { 'x-request-id': '', 'message-id': 'asked-3' } },
  ]),
]

function of(name: string, id: string, messages: readonly HostileMessage[], on?: HostileEntry['on']): HostileEntry {
  const full = name.includes(' as ') || name.includes(':') || name.includes(',') ? name : `${name}: ${id}`
  return { name: full, id, messages, ...(on === undefined ? {} : { on }) }
}

function fromPayloads(
  id: string,
  theme: string,
  given: Readonly<Record<string, readonly (readonly [value: string, must: Must])[]>>,
): HostileEntry[] {
  return Object.entries(given).map(([name, messages]) => ({
    name: `${theme}: ${name}`,
    id,
    messages: messages.map(([value, must]) => ({ must, headers: {}, value })),
  }))
}

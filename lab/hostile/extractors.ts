import { cloudEvent, messageId, standardId, type IdExtractor } from '../../src/index.ts'

/** How an entry's consumer finds the message ID. @throws TypeError for an unknown name */
export function extractorNamed(name: string): IdExtractor {
  const extractor = EXTRACTORS[name]
  if (extractor === undefined) throw new TypeError(`no extractor is named ${name}`)
  return extractor
}

const header = messageId.header('message-id')

/** Text as a careless consumer makes it of whatever is there. */
const asText: IdExtractor = ({ payload }) => `as text: ${String((payload as { id: unknown }).id)}`

const fromPayload: IdExtractor = ({ payload }) => (payload as { id: string }).id

/** Values that the types forbid, and that a consumer without types may return. */
const returning = (value: unknown): IdExtractor => {
  return () => value as string
}

const throwing = (value: unknown): IdExtractor => {
  return () => {
    throw value as Error
  }
}

const EXTRACTORS: Readonly<Record<string, IdExtractor>> = {
  header,
  'one of two headers': messageId.header('x-request-id', 'message-id'),
  'inherited names': messageId.header('constructor', '__proto__', 'toString', 'valueOf', 'hasOwnProperty'),
  'header __proto__': messageId.header('__proto__'),
  'header constructor': messageId.header('constructor'),
  'cloud event': cloudEvent(),
  standard: standardId(),
  property: messageId.property(),
  payload: fromPayload,
  'payload as text': asText,
  'payload at depth': ({ payload }) => (payload as { a: { b: { c: string } } }).a.b.c,
  'partition key': ({ key }) => key ?? undefined,
  'joined by a colon': ({ headers }) => Buffer.from(`${textOf(headers['a'])}:${textOf(headers['b'])}`),
  coordinates: ({ destination, headers }) => `${destination}/${textOf(headers['message-id'])}`,
  number: returning(700_021),
  'number with a fraction': returning(4.2),
  'number beyond 2^53': returning(2 ** 53),
  'not a number': returning(Number.NaN),
  bigint: returning(2n ** 70n),
  true: returning(true),
  false: returning(false),
  symbol: returning(Symbol('id')),
  array: returning(['a']),
  'array of bytes': returning([1, 2, 3]),
  object: returning({ id: 'a' }),
  'text object': returning(Object('a')),
  'object with toString': returning({ toString: () => 'a', [Symbol.toPrimitive]: () => 'a' }),
  'object with length': returning({ length: 3, 0: 1, 1: 2, 2: 3 }),
  function: returning(() => 'a'),
  date: returning(new Date(0)),
  'array buffer': returning(new ArrayBuffer(8)),
  'data view': returning(new DataView(new ArrayBuffer(8))),
  'wide array': returning(new Uint16Array([1, 2])),
  promise: () => Promise.resolve('a') as unknown as string,
  'rejected promise': () => Promise.reject(new Error('too late')) as unknown as string,
  // oxlint-disable-next-line unicorn/no-thenable
  thenable: returning({ then: (resolve: (id: string) => void) => resolve('a') }),
  null: returning(null),
  'empty bytes': returning(new Uint8Array(0)),
  'bytes only by name': returning(Object.create(Uint8Array.prototype)),
  'revoked proxy': () => revoked() as unknown as string,
  'throws null': throwing(null),
  'throws undefined': throwing(undefined),
  'throws a symbol': throwing(Symbol('thrown')),
  'throws without a prototype': throwing(Object.create(null)),
  'throws what throws': throwing({
    get message(): string {
      throw new Error('message')
    },
    toString(): string {
      throw new Error('toString')
    },
  }),
  'throws an error that throws': () => {
    throw Object.defineProperties(new Error('x'), {
      message: {
        get: () => {
          throw new Error('message')
        },
      },
      name: {
        get: () => {
          throw new Error('name')
        },
      },
    })
  },
  'throws a revoked proxy': () => {
    throw revoked() as Error
  },
  'throws odd text': throwing(new Error(`NUL \0 line\r\nfeed \uD800 ${'\u{1F4A9}'.repeat(2_000)}`)),
  'overflows the stack': () => {
    const deeper = (): string => deeper() + deeper()
    return deeper()
  },
}

function textOf(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString() : String(value)
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

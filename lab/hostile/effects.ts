import { TerminalError } from '../../src/index.ts'

/** Behaviour of the handler before its effect. */
export type Attempted = (attempt: number) => void

/** @throws TypeError for an unknown name */
export function effectNamed(name: string): Attempted {
  const effect = EFFECTS[name]
  if (effect === undefined) throw new TypeError(`no effect is named ${name}`)
  return effect
}

const EFFECTS: Readonly<Record<string, Attempted>> = {
  apply: () => {},
  'fails once': (attempt) => {
    if (attempt === 1) throw new Error('first attempt')
  },
  fails: () => {
    throw new Error('every attempt')
  },
  'is sure to fail': () => {
    throw new TerminalError('never')
  },
  'throws null': throwing(() => null),
  'throws undefined': throwing(() => undefined),
  'throws what throws': throwing(() => ({
    toString(): string {
      throw new Error('toString')
    },
  })),
  'throws an error that throws': throwing(() =>
    Object.defineProperty(new Error('x'), 'name', {
      get: () => {
        throw new Error('name')
      },
    }),
  ),
  'throws a revoked proxy': throwing(() => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    return proxy
  }),
  'throws odd text': throwing(() => new Error(`NUL \0 line\r\nfeed \uD800 ${'\u{1F4A9}'.repeat(2_000)}`)),
  'throws a name like a header': throwing(() =>
    Object.assign(new Error('x'), { name: `X\r\nmessage-id: ${'n'.repeat(5_000)}` }),
  ),
}

function throwing(what: () => unknown): Attempted {
  return () => {
    throw what() as Error
  }
}

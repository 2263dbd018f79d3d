import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { lockRow } from '../../../adapters/guards/index.ts'
import { once, tokens, withLock, type OnceOptions } from '../../../src/index.ts'
import { memoryStore } from '../../../src/memory/index.ts'
import { callsOn } from '../../../src/once/calls.ts'
import type { InboxStore, LeaseStore } from '../../../src/internal.ts'
import { MemoryInbox } from '../../../testing/stores/memory-inbox.ts'
import { ManualClock, turns } from '../../kit/manual-clock.ts'
import { codeOf } from '../../kit/code-of.ts'

type Call = 'open' | 'claim' | 'mark' | 'release'

const clocks: ManualClock[] = []

afterEach(async () => {
  for (const clock of clocks.splice(0)) {
    // What is asked in the background ends too.
    await clock.advance(10 * 60_000)
    if (clock.pending > 0) throw new Error(`${clock.pending} timers left`)
  }
})

/** A store whose call `hangs` has no answer, as when its pool is used up, until the test lets it go on. */
class Hanging {
  readonly clock = new ManualClock()
  readonly store: LeaseStore
  readonly calls: string[] = []
  #goOn: () => void = () => {}

  constructor(hangs: Call) {
    clocks.push(this.clock)
    const gate = new Promise<void>((resolve) => {
      this.#goOn = resolve
    })
    const through = async <T>(call: Call, ask: () => Promise<T>): Promise<T> => {
      this.calls.push(call)
      if (call === hangs) await gate
      return ask()
    }
    const memory = memoryStore({ clock: this.clock })
    this.store = {
      strategy: 'lease',
      open: () => through('open', () => memory.open()),
      claim: (request) => through('claim', () => memory.claim(request)),
      renew: (claims, leaseMs) => memory.renew(claims, leaseMs),
      mark: (claims, results) => through('mark', () => memory.mark(claims, results)),
      release: (claims, how) => through('release', () => memory.release(claims, how)),
      setAside: (claims, as, why) => memory.setAside(claims, as, why),
    }
  }

  async goOn(): Promise<void> {
    this.#goOn()
    await turns()
  }

  /** How long a call takes to reject, and with what. */
  async end(call: Promise<unknown>): Promise<{ readonly afterMs: number; readonly why: string }> {
    const from = this.clock.monotonic()
    const ends: { readonly afterMs: number; readonly why: string }[] = []
    const over = (why: string): void => void ends.push({ afterMs: this.clock.monotonic() - from, why })
    call.then(
      (value) => over(JSON.stringify(value)),
      (error: { readonly code?: string; readonly message: string }) => over(error.code ?? error.message),
    )
    for (let step = 0; step < 600 && ends.length === 0; step++) await this.clock.advance(100)
    return ends[0] ?? { afterMs: Number.POSITIVE_INFINITY, why: 'no end' }
  }
}

const gone = (clock: ManualClock, afterMs: number): AbortSignal => {
  const controller = new AbortController()
  clock.after(afterMs, () => controller.abort(new Error('gone')))
  return controller.signal
}

const silent = (): Promise<never> => new Promise(() => {})

const secrets = ['a secret of 16 b']

/** Each public function that waits for a store, with a limit of one second. */
const FUNCTIONS = {
  once: ({ store, clock }: Hanging, signal?: AbortSignal): Promise<unknown> => {
    const options: OnceOptions = signal === undefined ? { waitMs: 1_000 } : { signal }
    return once(store, 'k', () => 1, { clock, purge: 'never', ...options })
  },
  withLock: ({ store, clock }: Hanging, signal?: AbortSignal): Promise<unknown> =>
    withLock(store, 'k', () => 1, signal === undefined ? { clock, waitMs: 1_000 } : { clock, signal }),
  'tokens.redeem': ({ store, clock }: Hanging, signal?: AbortSignal): Promise<unknown> => {
    const forms = tokens(store, { secrets, clock })
    return forms.redeem(forms.issue('user', { ttlMs: 60_000 }), 'user', signal === undefined ? {} : { signal })
  },
}

describe('a store that does not answer', () => {
  it.each(
    Object.entries(FUNCTIONS).flatMap(([name, call]) => [
      [name, 'open', call] as const,
      [name, 'claim', call] as const,
    ]),
  )('does not hold up %s for longer than its wait: %s hangs', async (name, hangs, call) => {
    const hanging = new Hanging(hangs)
    const { afterMs, why } = await hanging.end(call(hanging))
    expect(why).toBe('STORE_UNREACHABLE')
    expect(afterMs).toBeLessThanOrEqual(name === 'tokens.redeem' ? 10_100 : 1_100)
  })

  it.each(
    Object.entries(FUNCTIONS).flatMap(([name, call]) =>
      (['open', 'claim', ...(name === 'withLock' ? [] : (['mark'] as const))] as const).map(
        (hangs) => [name, hangs, call] as const,
      ),
    ),
  )('does not hold up %s after its signal aborted: %s hangs', async (_name, hangs, call) => {
    const hanging = new Hanging(hangs)
    const { afterMs, why } = await hanging.end(call(hanging, gone(hanging.clock, 500)))
    expect(why).toBe('gone')
    expect(afterMs).toBeLessThanOrEqual(700)
  })

  it.each(['once', 'withLock'] as const)(
    'grants %s nothing that nobody waits for: the key is free again',
    async (name) => {
      const hanging = new Hanging('claim')
      const call = FUNCTIONS[name]
      expect((await hanging.end(call(hanging))).why).toBe('STORE_UNREACHABLE')
      await hanging.goOn()
      expect(hanging.calls).toContain('release')
      expect(await hanging.end(call(hanging))).toMatchObject({ why: expect.stringContaining('"result":1') })
    },
  )

  it('is asked by once who has the key, on an inbox: for two seconds, or until its signal aborts', async () => {
    for (const [isGone, code, mostMs] of [
      [false, 'STORE_UNREACHABLE', 3_100],
      [true, 'gone', 1_600],
    ] as const) {
      const hanging = new Hanging('open')
      const { clock } = hanging
      const memory = new MemoryInbox({ clock })
      const store = Object.assign(Object.create(memory) as InboxStore<never>, {
        open: () => memory.open(),
        claim: silent,
        admin: { ...memory.admin, peek: silent },
      })
      const signal = isGone ? { signal: gone(clock, 1_500) } : {}
      const call = once(store, 'k', () => 1, { clock, purge: 'never', waitMs: 1_000, ...signal })
      const { afterMs, why } = await hanging.end(call)
      expect([why, afterMs <= mostMs, afterMs >= 1_500]).toEqual([code, true, true])
    }
  })

  it('gets the mark of a function that has run, although its caller is gone', async () => {
    const hanging = new Hanging('mark')
    expect((await hanging.end(FUNCTIONS.once(hanging, gone(hanging.clock, 500)))).why).toBe('gone')
    await hanging.goOn()
    expect(await hanging.end(FUNCTIONS.once(hanging))).toMatchObject({ why: '{"result":1,"replayed":true}' })
  })

  it('holds up the answer of once for no longer than a lease, and that of withLock for five seconds', async () => {
    const marking = new Hanging('mark')
    const call = once(marking.store, 'k', () => 1, { clock: marking.clock, purge: 'never', leaseMs: 3_000 })
    expect(await marking.end(call)).toMatchObject({ why: 'STORE_AMBIGUOUS', afterMs: expect.closeTo(3_000, -3) })
    const releasing = new Hanging('release')
    const lock = withLock(releasing.store, 'k', () => 1, { clock: releasing.clock })
    const { afterMs, why } = await releasing.end(lock)
    expect(JSON.parse(why)).toMatchObject({ verdict: 'ran' })
    expect(afterMs).toBeLessThanOrEqual(5_100)
  })

  it('is asked by withLock again and again with the same token', async () => {
    const clock = new ManualClock()
    clocks.push(clock)
    const memory = memoryStore({ clock })
    const tokensOf: string[] = []
    const store: LeaseStore = {
      strategy: 'lease',
      open: () => memory.open(),
      renew: (claims, leaseMs) => memory.renew(claims, leaseMs),
      mark: (claims) => memory.mark(claims),
      setAside: (claims, as, why) => memory.setAside(claims, as, why),
      claim: async (request) => {
        tokensOf.push(request.token)
        const answers = await memory.claim(request)
        if (tokensOf.length < 3) throw new Error('the reply is lost')
        return answers
      },
      release: async (claims, how) => {
        const verdicts = await memory.release(claims, how)
        tokensOf.push(claims[0]?.token ?? '')
        if (tokensOf.length < 6) throw new Error('the reply is lost')
        return verdicts
      },
    }
    const lock = withLock(store, 'k', ({ fence }) => fence, { clock })
    for (let step = 0; step < 100; step++) await clock.advance(100)
    expect(await lock).toEqual({ verdict: 'ran', result: 1, fence: 1 })
    expect(tokensOf).toHaveLength(6)
    expect(new Set(tokensOf).size).toBe(1)
  })

  it('does not hold up lockRow', async () => {
    const silentDatabase = { query: silent }
    jest.useFakeTimers()
    try {
      const code = codeOf(lockRow(silentDatabase, { table: 'a', key: { id: 1 }, waitMs: 1_500 }))
      await jest.advanceTimersByTimeAsync(7_000)
      expect(await code).toBe('STORE_AMBIGUOUS')
    } finally {
      jest.useRealTimers()
    }
  })
})

describe('what calls leave behind', () => {
  it('does not grow with the number of different times and scopes', async () => {
    const clock = new ManualClock()
    clocks.push(clock)
    const store = new MemoryInbox({ clock }) as unknown as InboxStore<never>
    for (let at = 0; at < 3_000; at++) {
      await once(store, 'k', () => at, { clock, scope: `s${at}`, handlerTimeoutMs: 1_000 + at, purge: 'background' })
    }
    const { flights, deadlines, scopes } = callsOn(store).kept
    expect(flights).toBe(0)
    expect(deadlines).toBeLessThanOrEqual(17)
    expect(scopes).toBeLessThanOrEqual(1_000)
    // The purge comes again and again, on a timer that does not keep the process alive.
    clocks.splice(0)
  }, 60_000)
})

/** The interfaces with a limit of time or a signal, by file, and how a store that hangs is kept from holding them up. */
const KNOWN: Readonly<Record<string, string>> = {
  'src/once/options.ts OnceContext': 'the function of the user gets it',
  'src/once/options.ts OnceOptions': 'tested here',
  'src/once/with-lock.ts WithLockOptions': 'tested here',
  'src/once/with-lock.ts HeldLock': 'the function of the user gets it',
  'src/once/run.ts RunContext': 'the function of the user gets it',
  'src/once/tokens.ts Tokens': 'tested here',
  'adapters/guards/lock-row.ts LockRowOptions': 'tested here',
  'adapters/guards/statements.ts Locking': 'the options of lockRow, complete',
}

describe('functions with a limit of time', () => {
  it('are all known here, so that a new one is tried on a store that hangs', () => {
    const found = ['src/once', 'adapters/guards'].flatMap((folder) =>
      readdirSync(folder).flatMap((name) => {
        const text = readFileSync(join(folder, name), 'utf8')
        return [...text.matchAll(/^(?:export )?(?:interface|type) (\w+)[^\n{]*\{\n([\s\S]*?)\n\}/gm)].flatMap(
          ([, type, body]) => (/readonly (?:signal|waitMs)\??:/.test(body ?? '') ? [`${folder}/${name} ${type}`] : []),
        )
      }),
    )
    expect(found.toSorted()).toEqual(Object.keys(KNOWN).toSorted())
  })
})

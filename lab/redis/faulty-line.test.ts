import { describe, expect, it } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { Redis, type RedisOptions } from 'ioredis'
import { redisLease, redisSequences } from 'consume-once/redis'
import { hasCode } from '../../src/foundation/errors.ts'
import type { Store } from '../../src/ports/store.ts'
import { claim, hold, newItem, newToken, SCOPE } from '../../testing/contract/store/claims.ts'
import { ALONE, holdNew } from '../../testing/contract/store/given.ts'
import { backends } from '../../test/kit/backends.ts'
import { startPrivateRedis, type PrivateRedis } from '../../test/kit/servers/private-redis.ts'
import { startFaultProxy, type Fault, type FaultProxy } from '../../test/kit/fault-proxy.ts'
import { LIBRARIES, type UsersClient } from '../../test/redis/clients.ts'

const describeOnRedis = backends.has('redis') ? describe : describe.skip

/** Behaviour of a client after a command without a reply. */
const CLIENTS: readonly (readonly [string, (url: string) => Promise<UsersClient>])[] = [
  ...LIBRARIES.map(({ name, connect }) => [`of ${name}`, connect] as const),
  ['of ioredis that rejects it', ioredisWith({ maxRetriesPerRequest: 0 })],
  ['of ioredis that never settles it', ioredisWith({ autoResendUnfulfilledCommands: false })],
  ['of ioredis that waits for ever', ioredisWith({ maxRetriesPerRequest: null })],
  ['of ioredis that gives it up by itself', ioredisWith({ commandTimeout: 100 })],
  ['of ioredis that queues nothing', ioredisWith({ enableOfflineQueue: false })],
]

const FAULTS: readonly Fault[] = ['cut after', 'cut before', 'silence']

/** How each call is made on a record, what it answers the first time and when it is sent again, and what stands there then. */
interface Case {
  readonly call: (store: Store) => Promise<unknown>
  readonly first: unknown
  readonly again: unknown
  readonly stands: (store: Store) => Promise<unknown>
  readonly expected: unknown
}

const CASES: Readonly<Record<string, (store: Store) => Promise<Case>>> = {
  async claim() {
    const [item, token] = [newItem(), newToken()]
    const granted = expect.objectContaining({ verdict: 'claimed', fence: 1, attempt: 1 })
    const call = (store: Store): Promise<unknown> => claim(store, item, { token })
    const stands = async (store: Store): Promise<unknown> => (await claim(store, item, ALONE)).verdict
    return { call, first: granted, again: granted, stands, expected: 'busy' }
  },
  async 'take-over'(before) {
    const [item, token] = [newItem(), newToken()]
    await hold(before, item, { leaseMs: 0 })
    const granted = expect.objectContaining({ verdict: 'taken-over', fence: 2, attempt: 2 })
    const call = (store: Store): Promise<unknown> => claim(store, item, { ...ALONE, token })
    const stands = async (store: Store): Promise<unknown> => (await claim(store, item, ALONE)).verdict
    return { call, first: granted, again: granted, stands, expected: 'busy' }
  },
  async renew(before) {
    const { item, claim: claimed } = await holdNew(before, { leaseMs: 0 })
    const call = (store: Store): Promise<unknown> => store.renew([claimed], 60_000)
    const stands = async (store: Store): Promise<unknown> => (await claim(store, item, ALONE)).verdict
    return { call, first: ['renewed'], again: ['renewed'], stands, expected: 'busy' }
  },
  async mark(before) {
    const { item, claim: claimed } = await holdNew(before)
    const call = (store: Store): Promise<unknown> => store.mark([claimed], ['v1'])
    const stands = (store: Store): Promise<unknown> => claim(store, item)
    const expected = expect.objectContaining({ verdict: 'done', result: 'v1' })
    return { call, first: ['marked'], again: ['already-marked'], stands, expected }
  },
  async release(before) {
    const { item, claim: claimed } = await holdNew(before)
    const call = (store: Store): Promise<unknown> => store.release([claimed], { refund: true, doubt: false })
    const stands = (store: Store): Promise<unknown> => claim(store, item)
    const expected = expect.objectContaining({ verdict: 'claimed', attempt: 1 })
    return { call, first: ['released'], again: ['already-released'], stands, expected }
  },
  async 'set aside'(before) {
    const { item, claim: claimed } = await holdNew(before)
    const call = (store: Store): Promise<unknown> => store.setAside([claimed], 'given-up', { reason: 'no' })
    const stands = (store: Store): Promise<unknown> => claim(store, item)
    const expected = expect.objectContaining({ verdict: 'given-up', reason: 'no', attempt: 1 })
    return { call, first: ['given-up'], again: ['given-up'], stands, expected }
  },
  async 'set aside in doubt'(before) {
    const item = newItem()
    await hold(before, item, { leaseMs: 0 })
    const { claim: claimed } = await hold(before, item, ALONE)
    const call = (store: Store): Promise<unknown> => store.setAside([claimed], 'given-up', { reason: 'no' })
    const stands = (store: Store): Promise<unknown> => claim(store, item)
    return {
      call,
      first: ['parked'],
      again: ['parked'],
      stands,
      expected: expect.objectContaining({ verdict: 'parked', reason: 'no', attempt: 2 }),
    }
  },
  async decide(before) {
    const { item, claim: claimed } = await holdNew(before)
    await before.setAside([claimed], 'parked', { reason: 'wait' })
    const why = { by: 'alice', reason: 'seen', retentionMs: 60_000, as: 'done' } as const
    const call = async (store: Store): Promise<unknown> => store.admin?.resolve(SCOPE, [item.key], why)
    const stands = (store: Store): Promise<unknown> => claim(store, item)
    const expected = expect.objectContaining({ verdict: 'done' })
    return { call, first: ['decided'], again: ['already'], stands, expected }
  },
}

describeOnRedis('redisLease on a line that breaks', () => {
  let redis: PrivateRedis
  let line: FaultProxy
  beforeAllOpen(async (own) => {
    redis = own(await startPrivateRedis())
    line = own(await startFaultProxy(redis.port))
  })

  describe.each(CLIENTS)('with a client %s', (_title, connect) => {
    let client: UsersClient
    let store: Store
    beforeAllOpen(async (own) => {
      client = own(await connect(`redis://127.0.0.1:${line.port}`))
      store = client.lease({ queryTimeoutMs: 200 })
      // The scripts are known from here on, so that the reply that is lost is that of a script which ran.
      for (const prepare of Object.values(CASES)) {
        const { call } = await prepare(store)
        await untilAnswered(() => call(store))
      }
    })

    describe.each(FAULTS)('with the fault %s', (fault) => {
      it.each(Object.keys(CASES))('gets the answer of its %s', async (name) => {
        const { call, first, again, stands, expected } = (await CASES[name]?.(store)) ?? {}
        const before = line.faults
        line.breakNext(fault)
        const answer = await untilAnswered(() => call?.(store) ?? Promise.reject(new Error('no such case')))
        expect(line.faults).toBe(before + 1)
        // After silence a client may send both: what it was asked before, and again.
        const allowed = { 'cut after': [again], 'cut before': [first], swallowed: [again], silence: [first, again] }[
          fault
        ]
        expect(allowed).toContainEqual(answer)
        expect(await stands?.(store)).toEqual(expected)
      })
    })
  })

  /** As the pipeline asks: the same again, until there is an answer. */
  async function untilAnswered<T>(call: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await call()
      } catch (error) {
        if (!hasCode(error, 'STORE_AMBIGUOUS')) throw error
        line.mend()
        // A client may reject before it has had a turn to connect again.
        await new Promise(setImmediate)
      }
    }
  }
})

function ioredisWith(options: Omit<RedisOptions, 'replyMapping'>): (url: string) => Promise<UsersClient> {
  return async (url) => {
    const redis = new Redis(url, { ...options, retryStrategy: () => 10, disconnectTimeout: 50 })
    redis.on('error', () => {})
    const close = async (): Promise<void> => redis.disconnect()
    const sequences: UsersClient['sequences'] = (of) => redisSequences({ redis, ...of })
    return { lease: (of) => redisLease({ redis, ...of }), sequences, close, [Symbol.asyncDispose]: close }
  }
}

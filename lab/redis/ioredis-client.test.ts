import { describe, expect, it } from '@jest/globals'
import { redisLease, type IoredisLike, type RedisLeaseOptions } from 'consume-once/redis'
import { ConfigError } from '../../src/foundation/errors.ts'
import type { Store } from '../../src/ports/store.ts'
import { claim, newItem } from '../../testing/contract/store/claims.ts'

const CLAIMED = { ...newItem(), scope: '', token: 'token', fence: 1, attempt: 1, retentionMs: 1_000 }

function unused(): never {
  throw new Error('nothing is asked for in this way (ioredis-client.test)')
}

type Options = Omit<RedisLeaseOptions, 'redis'>
type Scripts = Pick<IoredisLike, 'evalsha' | 'eval'>

function answering(methods: Partial<IoredisLike>): IoredisLike {
  const scripts = { evalsha: unused, eval: unused, ...methods }
  return { ...scripts, call: unused, pipeline: () => pipelineOver(scripts), ...methods }
}

/** Calls the client for each command when the pipeline is executed, as ioredis does. */
function pipelineOver({ evalsha, eval: whole }: Scripts): ReturnType<IoredisLike['pipeline']> {
  const asked: (() => Promise<unknown>)[] = []
  return {
    evalsha: (...words) => asked.push(() => evalsha(...words)),
    eval: (...words) => asked.push(() => whole(...words)),
    call: unused,
    exec: async () => {
      const answers = await Promise.allSettled(asked.map((ask) => ask()))
      return answers.map((one) => (one.status === 'fulfilled' ? [null, one.value] : [one.reason as Error, undefined]))
    },
  }
}

/** No mock of Redis: a client that answers in one way, whatever it is asked. */
function storeOver(answer: () => Promise<unknown>, options: { readonly queryTimeoutMs?: number } = {}): Store {
  return redisLease({ redis: answering({ evalsha: answer, eval: answer, call: answer }), ...options })
}

const CALLS: readonly (readonly [string, (store: Store) => Promise<unknown>])[] = [
  ['open', (store) => store.open()],
  ['claim', (store) => claim(store, newItem())],
  ['renew', (store) => store.renew([CLAIMED], 1_000)],
  ['mark', (store) => store.mark([CLAIMED])],
  ['release', (store) => store.release([CLAIMED], { refund: false, doubt: false })],
  ['setAside', (store) => store.setAside([CLAIMED], 'parked', { reason: 'wait' })],
]

describe('redisLease over a client that misbehaves', () => {
  describe.each(CALLS)('%s', (name, call) => {
    // At the start nothing is at stake yet: it only matters that no usable Redis answered.
    const unknown = name === 'open' ? 'STORE_UNREACHABLE' : 'STORE_AMBIGUOUS'

    it('ends in time where the client never settles', async () => {
      const asked = performance.now()
      const store = storeOver(() => new Promise(() => {}), { queryTimeoutMs: 40 })
      await expect(call(store)).rejects.toMatchObject({ name: 'StoreError', code: unknown })
      expect(performance.now() - asked).toBeLessThan(1_000)
    })

    it.each([
      ['nothing', null],
      ['no list', 'marked'],
      ['an empty list', []],
      ['too long a list', ['marked', 'marked']],
      ['a number', [1]],
      ['null in a list', [null]],
      ['another word', ['mine']],
      ['a word with more behind it', ['marked|1']],
      ['a claim without a fence', ['claimed']],
      ['a claim without an attempt', ['claimed|1']],
      ['a claim with a broken fence', ['claimed|one|1']],
      ['busy without a time', ['busy']],
      ['done without a place for a result', ['done']],
      ['in-doubt with something behind it', ['in-doubt|1']],
      ['a record of somebody else', ['unreadable']],
      ['a letter that is none', ['x']],
      ['letters without the answer that they announce', ['-']],
      ['letters with an answer too many', ['c', 'claimed|1|1']],
      ['letters of a mark with an answer too many', ['m', 'marked']],
      ['too few letters', ['']],
      ['too many letters', ['cc']],
      ['a record of somebody else, behind its letter', ['-', 'unreadable']],
    ])('never guesses what %s means', async (_title, reply) => {
      await expect(call(storeOver(async () => reply))).rejects.toMatchObject({
        name: 'StoreError',
        code: unknown,
      })
    })

    it.each([
      "READONLY You can't write against a read only replica. script: 1, on @user_script:3.",
      'LOADING Redis is loading the dataset in memory',
      "OOM command not allowed when used memory > 'maxmemory'.",
      "ERR Error running script (call to f_1): @user_script:9: @user_script: 9: -OOM command not allowed when used memory > 'maxmemory'. ",
      'MISCONF Redis is configured to save RDB snapshots, but is unable to persist to disk.',
      'CLUSTERDOWN The cluster is down',
      'TRYAGAIN Multiple keys request during rehashing of slot',
      "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
      'NOREPLICAS Not enough good replicas to write.',
      'BUSY Redis is busy running a script.',
      'MOVED 3999 127.0.0.1:6381',
      "CROSSSLOT Keys in request don't hash to the same slot",
      'NOAUTH Authentication required.',
      "NOPERM User default has no permissions to run the 'evalsha' command",
    ])('is unreachable after %s', async (message) => {
      const cause = new Error(message)
      await expect(call(storeOver(() => Promise.reject(cause)))).rejects.toMatchObject({
        name: 'StoreError',
        code: 'STORE_UNREACHABLE',
        cause,
      })
    })

    it.each([
      'Connection is closed.',
      'Command timed out',
      'Reached the max retries per request limit (which is 20). Refer to "maxRetriesPerRequest" option for details.',
      'read ECONNRESET',
      'ERR unknown command',
    ])('is ambiguous after %s', async (message) => {
      const cause = new Error(message)
      await expect(call(storeOver(() => Promise.reject(cause)))).rejects.toMatchObject({
        name: 'StoreError',
        code: unknown,
        cause,
      })
    })
  })

  it('gives a claim and a renewal up after a third of the lease, so that there is time for another', async () => {
    const store = storeOver(() => new Promise(() => {}), { queryTimeoutMs: 60_000 })
    const asked = performance.now()
    const calls = [claim(store, newItem(), { leaseMs: 1_800 }), store.renew([CLAIMED], 1_800)]
    for (const outcome of await Promise.allSettled(calls)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'STORE_AMBIGUOUS' } })
    }
    expect(performance.now() - asked).toBeGreaterThan(500)
    expect(performance.now() - asked).toBeLessThan(1_800)
  })

  it('leaves no timer behind an answer', async () => {
    const before = timers()
    expect(await storeOver(async () => ['m'], { queryTimeoutMs: 60_000 }).mark([CLAIMED])).toEqual(['marked'])
    expect(timers()).toBe(before)
  })

  it('does not know what was written where a part of a batch was refused', async () => {
    const claims = Array.from({ length: 300 }, () => ({ ...CLAIMED, ...newItem() }))
    let scripts = 0
    const answer = async (_script: string, keys: number): Promise<unknown> => {
      if (++scripts === 2) throw new Error('OOM command not allowed')
      return Array.from({ length: keys }, () => 'marked')
    }
    const store = redisLease({ redis: answering({ evalsha: answer }) })
    await expect(store.mark(claims)).rejects.toMatchObject({ code: 'STORE_AMBIGUOUS' })
    expect(scripts).toBe(3)
  })

  it('sends what is asked in one turn together and in order, and what is asked later by itself', async () => {
    const asked: string[][] = []
    const answer = async (_script: string, keys: number, ...words: (string | number)[]): Promise<unknown> => {
      const [key = ''] = words
      asked.at(-1)?.push(String(key))
      return ['m'.repeat(keys)]
    }
    const redis = answering({
      evalsha: (...words) => {
        asked.push([])
        return answer(...words)
      },
      pipeline: () => {
        asked.push([])
        return pipelineOver({ evalsha: answer, eval: unused })
      },
    })
    const store = redisLease({ redis, prefix: 'p' })
    const [first, second, third] = [CLAIMED, { ...CLAIMED, ...newItem() }, { ...CLAIMED, ...newItem() }] as const
    expect(await Promise.all([store.mark([first]), store.mark([second])])).toEqual([['marked'], ['marked']])
    expect(await store.mark([third])).toEqual(['marked'])
    const ends = asked.map((keys) => keys.map((key) => key.slice(-22)))
    expect(ends).toEqual([[first.key, second.key], [third.key]])
  })

  it('tells each call its own outcome, though they left together', async () => {
    const refused = new Error('OOM command not allowed')
    let calls = 0
    const answer = async (): Promise<unknown> => {
      if (++calls === 1) throw refused
      return ['m']
    }
    const store = redisLease({ redis: answering({ evalsha: answer }) })
    const [one, other] = await Promise.allSettled([store.mark([CLAIMED]), store.mark([CLAIMED])])
    expect(one).toMatchObject({ status: 'rejected', reason: { code: 'STORE_UNREACHABLE' } })
    expect(other).toEqual({ status: 'fulfilled', value: ['marked'] })
  })

  it.each([
    ['no answers', (): Promise<null> => Promise.resolve(null)],
    ['too few answers', (): Promise<[]> => Promise.resolve([])],
    ['an error at once', unused],
    ['an error', (): Promise<never> => Promise.reject(new Error('read ECONNRESET'))],
  ])('is ambiguous after %s to what left together', async (_title, exec) => {
    const pipeline = () => ({ evalsha: () => {}, eval: unused, call: unused, exec })
    const store = redisLease({ redis: answering({ pipeline }) })
    for (const asked of await Promise.allSettled([store.mark([CLAIMED]), store.mark([CLAIMED])])) {
      expect(asked).toMatchObject({ status: 'rejected', reason: { code: 'STORE_AMBIGUOUS' } })
    }
  })

  it('sends the script itself to a server that knows no digest of it', async () => {
    const asked: string[] = []
    const redis = answering({
      evalsha: async (sha) => {
        asked.push(sha)
        throw new Error('NOSCRIPT No matching script. Please use EVAL.')
      },
      eval: async (lua) => {
        asked.push(lua)
        return ['m']
      },
    })
    expect(await redisLease({ redis }).mark([CLAIMED])).toEqual(['marked'])
    expect(asked).toEqual([expect.stringMatching(/^[0-9a-f]{40}$/), expect.stringContaining("redis.pcall('GET', key)")])
  })
})

describe('redisLease refuses at once', () => {
  const redis = answering({})

  it.each(['', 'a b', 'a{b', 'a}b', 'a\nb', 'x'.repeat(65)])('the prefix %j', (prefix) => {
    expect(() => redisLease({ redis, prefix })).toThrow(ConfigError)
  })

  it.each([0, 257, 1.5, Number.NaN])('%d shards', (shards) => {
    expect(() => redisLease({ redis, shards })).toThrow(ConfigError)
  })

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])('a timeout of %d ms', (queryTimeoutMs) => {
    expect(() => redisLease({ redis, queryTimeoutMs })).toThrow(ConfigError)
  })

  it.each<readonly [string, Options]>([
    ['replicas', { replicas: 1 }],
    ['durableWithinMs', { durableWithinMs: 100 }],
    ['replicas', { durability: 'replicas', replicas: 0 }],
    ['replicas', { durability: 'fsync', replicas: -1 }],
    ['durableWithinMs', { durability: 'fsync', durableWithinMs: 0 }],
    ['queryTimeoutMs', { durability: 'replicas', durableWithinMs: 600, queryTimeoutMs: 1_100 }],
    ['durability', { durability: 'disk' as 'fsync' }],
    ['durablity', { durablity: 'fsync' } as Options],
  ])('%s of %j', (name, options) => {
    expect(() => redisLease({ redis, ...options })).toThrow(
      expect.objectContaining({ problems: [expect.stringMatching(name)] }),
    )
  })

  it.each([undefined, null, 'redis://localhost', {}])('the client %j', (none) => {
    expect(() => redisLease({ redis: none as IoredisLike })).toThrow(/expected a client of ioredis/)
  })

  it('all of these in one error', () => {
    const problems = [/: prefix/, /: shards/, /: queryTimeoutMs/].map((part) => expect.stringMatching(part))
    expect(() => redisLease({ redis, prefix: ' ', shards: 0, queryTimeoutMs: 0 })).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', problems }),
    )
  })
})

function timers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
}

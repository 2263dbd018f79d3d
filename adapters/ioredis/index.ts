import {
  hasCode,
  StoreError,
  systemEntropy,
  type Claim,
  type ClaimAnswer,
  type ClaimItem,
  type ClaimRequest,
  type DurationMs,
  type Key,
  type MarkVerdict,
  type Reason,
  type Result,
  type ReleaseOptions,
  type ReleaseVerdict,
  type RenewVerdict,
  type SetAsideVerdict,
  type Store,
} from '../../src/index.ts'
import { answersWithin } from './answers-within.ts'
import { byShard, inOrder, inPlace, shardOf } from './batches.ts'
import { CLAIM } from './claim-script.ts'
import { MARK } from './mark-script.ts'
import { resolveOptions, type RedisLeaseOptions } from './options.ts'
import type { RedisLike } from './redis-like.ts'
import { RELEASE } from './release-script.ts'
import { RENEW } from './renew-script.ts'
import { readClaim, readMark, readRelease, readRenew, readReply, readSetAside, type ReadAnswer } from './replies.ts'
import { runScript, type Argument, type Script } from './script.ts'
import { SET_ASIDE } from './set-aside-script.ts'

export type { RedisLeaseOptions } from './options.ts'
export type { RedisLike } from './redis-like.ts'

/**
 * Leases in Redis. A mark that Redis loses (eviction, failover, a crash without append-only file) becomes a duplicate,
 * never a lost message. Fences grow while the record lives, and start at 1 again once it is lost or its retention ends.
 * @throws ConfigError `CONFIG_INVALID`
 */
export function redisLease(options: RedisLeaseOptions): Store {
  return new RedisLease(resolveOptions(options))
}

class RedisLease implements Store {
  readonly strategy = 'lease'
  readonly #redis: RedisLike
  /** Of the keys of each shard. Only the shard stands in braces: nothing of an ID decides the slot. */
  readonly #prefixes: readonly string[]
  readonly #timeoutMs: DurationMs

  constructor({ redis, prefix, shards, timeoutMs }: Required<RedisLeaseOptions>) {
    this.#redis = redis
    this.#prefixes = Array.from({ length: shards }, (_, shard) => `${prefix}:{${String(shard).padStart(2, '0')}}:`)
    this.#timeoutMs = timeoutMs
  }

  /** Claims and releases a key of its own, which ends in a second: what a replica, a full or an old server refuses. */
  async open(): Promise<void> {
    try {
      await this.#tryOut()
    } catch (cause) {
      if (!hasCode(cause, 'STORE_AMBIGUOUS')) throw cause
      // Whatever became of that key: here it only matters that no Redis answered.
      const advice = 'Check that it is up and that the client given to redisLease() has its address'
      throw new StoreError('STORE_UNREACHABLE', `${cause.message}. ${advice}`, { cause: cause.cause ?? cause })
    }
  }

  async #tryOut(): Promise<void> {
    const token = systemEntropy.ownerToken()
    const items = [{ key: `open-${token}`, digest: '' }]
    const answers = await this.claim({ scope: '', token, leaseMs: 1_000, retentionMs: 1_000, alone: true, items })
    const claims = answers.flatMap((answer) => ('claim' in answer ? [answer.claim] : []))
    await this.release(claims, { refund: false, doubt: false })
  }

  async claim({ scope, token, leaseMs, retentionMs, alone, items }: ClaimRequest): Promise<readonly ClaimAnswer[]> {
    refuseBar(token)
    const read = (answer: string, { key, digest }: ClaimItem): ClaimAnswer | undefined => {
      const answered = readClaim(answer)
      if (answered === undefined || !('fence' in answered)) return answered
      const { verdict, fence, attempt } = answered
      return { verdict, fence, attempt, claim: { key, digest, scope, token, fence, attempt, retentionMs } }
    }
    const shared = [token, wholeMs(leaseMs), wholeMs(retentionMs), alone ? 1 : 0]
    return this.#run(CLAIM, read, items, shared, (words, { digest }) => {
      refuseBar(digest)
      words.push(digest)
    })
  }

  async renew(claims: readonly Claim[], leaseMs: DurationMs): Promise<readonly RenewVerdict[]> {
    return this.#run(RENEW, readRenew, claims, [wholeMs(leaseMs)], addToken)
  }

  async mark(claims: readonly Claim[], results: readonly (Result | undefined)[] = []): Promise<readonly MarkVerdict[]> {
    const marks = claims.map((claimed, at) => ({ ...claimed, result: results[at] ?? '' }))
    return this.#run(MARK, readMark, marks, [], (words, { token, digest, fence, retentionMs, result }) =>
      words.push(`|${digest}|${token}|`, fence, wholeMs(retentionMs), result),
    )
  }

  async release(claims: readonly Claim[], { refund, doubt }: ReleaseOptions): Promise<readonly ReleaseVerdict[]> {
    return this.#run(RELEASE, readRelease, claims, [refund ? 1 : 0, doubt ? 1 : 0], addToken)
  }

  async setAside(
    claims: readonly Claim[],
    as: 'given-up' | 'parked',
    reason: Reason,
  ): Promise<readonly SetAsideVerdict[]> {
    return this.#run(SET_ASIDE, readSetAside, claims, [as === 'given-up' ? 'G' : 'X', reason], addToken)
  }

  /** One script for each part of the batch, side by side; answers in the order of `items`. */
  async #run<Item extends { readonly key: Key }, T>(
    script: Script,
    read: ReadAnswer<Item, T>,
    items: readonly Item[],
    shared: readonly Argument[],
    addArguments: (words: Argument[], item: Item) => void,
  ): Promise<readonly T[]> {
    const split = this.#redis.isCluster === true ? byShard(items, ({ key }) => this.#shardOf(key)) : inOrder(items)
    const asked = split.parts.map(async (part) => {
      const words: Argument[] = part.map(({ key }) => this.#nameOf(key))
      words.push(...shared)
      for (const item of part) addArguments(words, item)
      return readReply(await runScript(this.#redis, script, part.length, words), part, read)
    })
    return inPlace(await answersWithin(this.#timeoutMs, asked), split)
  }

  #nameOf(key: Key): string {
    return `${this.#prefixes[this.#shardOf(key)]}${key}`
  }

  #shardOf(key: Key): number {
    return shardOf(key, this.#prefixes.length)
  }
}

function addToken(words: Argument[], { token }: Claim): void {
  words.push(token)
}

/** Fields of a record are told apart by bars. */
function refuseBar(field: string): void {
  if (field.includes('|'))
    throw new StoreError('STORE_MISUSED', `a token or digest must not contain '|', got '${field}'`)
}

/** Redis takes whole milliseconds, and no expiry of zero. */
function wholeMs(ms: DurationMs): DurationMs {
  return Math.ceil(ms)
}

import type {
  Claim,
  ClaimItem,
  ClaimRequest,
  CheckFinding,
  LeaseAnswer,
  LeaseStore,
  MarkVerdict,
  ReleaseOptions,
  ReleaseVerdict,
  RenewVerdict,
  SetAsideOptions,
  SetAsideVerdict,
  StoreAdmin,
} from '../../../src/spi.ts'
import { KeyNames } from './key-names.ts'
import { leaseOver, refuseBars } from './lease.ts'
import type { ResolvedLease } from './options.ts'
import { ownerOf } from './owners.ts'
import type { RedisPort } from './redis-port.ts'
import { readClaim } from './replies.ts'
import { ScriptLine } from './script-line.ts'
import { MARK_FIRST, UNMARK } from './scripts/mark-first.ts'
import { wholeMs } from './whole-ms.ts'

/** The store of `redisSetnx`, for any client. */
export function markFirstOver(redis: RedisPort, options: ResolvedLease): LeaseStore {
  return new MarkFirst(redis, options)
}

/**
 * The scheme of the textbooks, SET NX with an end, before the effect: the claim writes the mark. There is nothing to
 * renew, and nothing to mark after the handler. The records are those of `redisLease`, so people look at them and decide
 * about them in the same way.
 */
class MarkFirst implements LeaseStore {
  readonly strategy = 'lease'
  readonly name = 'redis-setnx'
  readonly marksFirst = true
  readonly inOrder = false
  readonly admin: StoreAdmin
  readonly #lease: ReturnType<typeof leaseOver>
  readonly #redis: RedisPort
  readonly #names: KeyNames
  readonly #line: ScriptLine

  constructor(redis: RedisPort, options: ResolvedLease) {
    const { prefix, shards, timeoutMs, durability } = options
    this.#redis = redis
    const lease = (this.#lease = leaseOver(redis, options))
    this.#names = new KeyNames(prefix, shards)
    this.#line = new ScriptLine(redis, this.#names, timeoutMs, durability)
    this.admin = lease.admin
  }

  open(): Promise<void> {
    return this.#lease.open()
  }

  checkup(): Promise<readonly CheckFinding[]> {
    return this.#lease.checkup()
  }

  onReachable(listener: () => void): () => void {
    return this.#lease.onReachable(listener)
  }

  async claim({ scope, token, retentionMs, items }: ClaimRequest): Promise<readonly LeaseAnswer[]> {
    refuseBars(token, items)
    return this.#line.run({
      script: MARK_FIRST,
      items,
      addKeys: (words, [first]) => {
        if (first === undefined) return
        words.push(this.#names.since(scope, this.#redis.isCluster ? this.#names.shardOf(first.key) : undefined))
      },
      argumentsOf: (part) => [token, wholeMs(retentionMs), ...part.map(({ digest }) => digest)],
      read: (answer, { key, digest }: ClaimItem): LeaseAnswer | undefined => {
        const answered = readClaim(answer)
        if (answered?.verdict === 'unreadable') {
          return { ...answered, found: `${this.#names.of(key)}: ${answered.found}` }
        }
        if (answered === undefined || !('fence' in answered)) return answered
        const { verdict, fence, attempt } = answered
        return { verdict, fence, attempt, claim: { key, digest, scope, token, fence, attempt, retentionMs } }
      },
      durable: true,
    })
  }

  /** The mark holds for the retention. */
  async renew(claims: readonly Claim[]): Promise<readonly RenewVerdict[]> {
    return claims.map(() => 'renewed')
  }

  /** The claim has written it. */
  async mark(claims: readonly Claim[]): Promise<readonly MarkVerdict[]> {
    return claims.map(() => 'marked')
  }

  /** After an outcome that nobody knows the mark stays: the effect never happens twice. */
  async release(claims: readonly Claim[], how: ReleaseOptions): Promise<readonly ReleaseVerdict[]> {
    if (how.doubt) return claims.map(() => 'released')
    await this.#unmark(claims)
    return this.#lease.release(claims, how)
  }

  async setAside(
    claims: readonly Claim[],
    as: 'given-up' | 'parked',
    why: SetAsideOptions,
  ): Promise<readonly SetAsideVerdict[]> {
    await this.#unmark(claims)
    return this.#lease.setAside(claims, as, why)
  }

  async #unmark(claims: readonly Claim[]): Promise<void> {
    await this.#line.run({
      script: UNMARK,
      items: claims,
      argumentsOf: (part) => part.map(ownerOf),
      read: (answer) => (answer === 'ready' ? answer : undefined),
    })
  }
}

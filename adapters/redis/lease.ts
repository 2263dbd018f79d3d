import {
  ConfigError,
  describeError,
  hasCode,
  StoreError,
  systemClock,
  systemEntropy,
  type CheckFinding,
  type Claim,
  type ClaimItem,
  type ClaimRequest,
  type LeaseAnswer,
  type LeaseStore,
  type DurationMs,
  type MarkVerdict,
  type Result,
  type ReleaseOptions,
  type ReleaseVerdict,
  type RenewVerdict,
  type SetAsideOptions,
  type SetAsideVerdict,
  type SequenceLedger,
  type StoreAdmin,
} from '../../src/internal.ts'
import { RedisAdmin } from './people/admin.ts'
import { adviceFor, adviceOnRefusal, isPassing, whyNoWrites } from './servers/refusals.ts'
import { checkServers } from './servers/check-servers.ts'
import { checkClaim, checkup } from './servers/checkup.ts'
import type { Durability } from './calls/durability.ts'
import { KeyNames } from './records/key-names.ts'
import type { ResolvedOptions } from './options.ts'
import { BEFORE_TAG, ownerOf } from './records/owners.ts'
import type { Argument, RedisPort } from './clients/redis-port.ts'
import { readClaim, readMark, readRelease, readRenew, readSetAside } from './calls/replies.ts'
import { ScriptLine } from './calls/script-line.ts'
import { CLAIM, digestArguments } from './scripts/claim.ts'
import { CONFIRM } from './scripts/confirm.ts'
import { MARK, markArguments } from './scripts/mark.ts'
import { MARK_FIRST, UNMARK } from './scripts/mark-first.ts'
import { RELEASE } from './scripts/release.ts'
import { RENEW } from './scripts/renew.ts'
import { SET_ASIDE } from './scripts/set-aside.ts'
import { RedisSequenceLedger } from './sequence-ledger.ts'
import { wholeMs } from './records/whole-ms.ts'

/** Lower limit of a call's timeout, however short the lease: the server may only be slow. */
const LEAST_TIMEOUT_MS = 500

/** The store, for any client. The records are the same, whether they are marked before or after the handler. */
export class RedisLease implements LeaseStore {
  readonly strategy = 'lease'
  readonly name = 'redis-lease'
  /** With durability above `memory`, marks are sent in groups, apart from claims. */
  readonly inOrder: boolean
  readonly marksFirst: boolean
  readonly admin: StoreAdmin
  readonly sequences: SequenceLedger
  readonly #redis: RedisPort
  readonly #names: KeyNames
  readonly #line: ScriptLine
  readonly #shards: number
  readonly #timeoutMs: DurationMs
  readonly #durability: Durability

  constructor({ redis, prefix, shards, timeoutMs, durability, marksFirst }: ResolvedOptions) {
    const names = (this.#names = new KeyNames(prefix, shards))
    this.#redis = redis
    this.#line = new ScriptLine(redis, names, timeoutMs, durability)
    this.admin = new RedisAdmin(redis, names, this.#line, shards)
    this.sequences = new RedisSequenceLedger(names, this.#line)
    this.#shards = shards
    this.#timeoutMs = timeoutMs
    this.#durability = durability
    this.inOrder = redis.isOneLine && durability.kind === 'memory' && !marksFirst
    this.marksFirst = marksFirst
  }

  /**
   * Checks the servers, then claims and marks test keys that expire after a second. So it finds a replica, a server
   * that is full or too old, and missing replicas. A passing error is retried for up to `timeoutMs`.
   * @throws ConfigError `CONFIG_INVALID`
   */
  async open(): Promise<void> {
    // ioredis tells only by this event that a connection was refused; a call of it says that the connection is closed.
    let refusal: string | undefined
    const unwatch = this.#redis.onError?.((error) => {
      const text = describeError(error)
      if (adviceOnRefusal(text) !== undefined) refusal = text
    })
    try {
      await this.#openWithin(() => refusal)
    } finally {
      unwatch?.()
    }
  }

  async #openWithin(refusal: () => string | undefined): Promise<void> {
    const until = systemClock.monotonic() + this.#timeoutMs
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      try {
        return await this.#open()
      } catch (error) {
        const refused = refusal()
        if (refused !== undefined && hasCode(error, 'STORE_AMBIGUOUS')) {
          const { address } = this.#redis
          const text = `Redis${address === undefined ? '' : ` at ${address}`} refuses: ${refused}`
          throw this.#withAdvice(new StoreError('STORE_UNREACHABLE', text, { cause: error }))
        }
        if (!isPassing(error) || systemClock.monotonic() + pauseMs >= until) throw this.#withAdvice(error)
        await new Promise<void>((resolve) => void systemClock.after(pauseMs, resolve))
      }
    }
  }

  async #open(): Promise<void> {
    const problems = await this.#line.ask(checkServers(this.#redis, this.#durability))
    if (problems.length > 0) throw new ConfigError(problems)
    await this.#tryOut()
  }

  /** At the start it does not matter whether the test keys were written, only why Redis gave no valid answer. */
  #withAdvice(error: unknown): unknown {
    const isRefused =
      hasCode(error, 'STORE_UNREACHABLE') && (adviceOnRefusal(error.message) ?? whyNoWrites(error)) !== undefined
    if (!isRefused && !hasCode(error, 'STORE_AMBIGUOUS')) return error
    const advice = adviceFor(error, this.#durability)
    return new StoreError('STORE_UNREACHABLE', `${error.message.replace(/\.$/, '')}. ${advice}`, {
      cause: error.cause ?? error,
    })
  }

  onReachable(listener: () => void): () => void {
    return this.#redis.onReady(listener)
  }

  async checkup(): Promise<readonly CheckFinding[]> {
    const findings = await this.#line.ask(checkup(this.#redis, this.#durability))
    const why = (error: unknown): string => describeError(this.#withAdvice(error))
    return [...findings, ...(await checkClaim(() => this.#tryOut(), why, findings))]
  }

  async #tryOut(): Promise<void> {
    const token = systemEntropy.ownerToken()
    // In a cluster, keys in about every shard.
    const items = Array.from({ length: this.#redis.isCluster ? this.#shards : 1 }, () => ({
      key: `${systemEntropy.ownerToken()}-open`,
      digest: '',
      position: undefined,
    }))
    const answers = await this.#claimLease({
      scope: TRIAL,
      token,
      leaseMs: 1_000,
      retentionMs: 1_000,
      alone: true,
      items,
    })
    const claims = answers.flatMap((answer) => ('claim' in answer ? [answer.claim] : []))
    await this.#mark(claims, [])
    // Once more: a record that is not as it was claimed is read by another command, which is a right of its own.
    await this.#mark(claims, [])
  }

  claim(request: ClaimRequest): Promise<readonly LeaseAnswer[]> {
    return this.marksFirst ? this.#claimAsDone(request) : this.#claimLease(request)
  }

  async #claimLease(request: ClaimRequest): Promise<readonly LeaseAnswer[]> {
    const { scope, token, leaseMs, retentionMs, alone, items } = request
    refuseBars(token, items)
    const owner = ownerOf({ token, scope })
    const answers = await this.#line.run({
      script: CLAIM,
      items,
      addKeys: (words, [first]) => this.#addTimes(words, scope, first),
      argumentsOf: (part) => [owner, wholeMs(leaseMs), wholeMs(retentionMs), alone ? 1 : 0, ...digestArguments(part)],
      read: (answer, item: ClaimItem) => this.#answerOf(answer, item, request),
      withinMs: this.#within(leaseMs),
    })
    if (this.#durability.kind !== 'memory') {
      await this.#confirm(items.filter((_, at) => answers[at]?.verdict === 'done')) // mutant: redis-duplicate-unconfirmed
    }
    return answers
  }

  /** SET NX with an end, before the effect: there is nothing to renew, and nothing to mark after the handler. */
  async #claimAsDone(request: ClaimRequest): Promise<readonly LeaseAnswer[]> {
    const { scope, token, retentionMs, items } = request
    refuseBars(token, items)
    return this.#line.run({
      script: MARK_FIRST,
      items,
      addKeys: (words, [first]) => this.#addTimes(words, scope, first),
      argumentsOf: (part) => [token, wholeMs(retentionMs), ...part.map(({ digest }) => digest)],
      read: (answer, item: ClaimItem) => this.#answerOf(answer, item, request),
      durable: true,
    })
  }

  #addTimes(words: Argument[], scope: string, first: ClaimItem | undefined): void {
    if (scope === TRIAL || first === undefined) return
    words.push(this.#names.since(scope, this.#redis.isCluster ? this.#names.shardOf(first.key) : undefined))
  }

  #answerOf(
    answer: string,
    { key, digest }: ClaimItem,
    { scope, token, retentionMs }: ClaimRequest,
  ): LeaseAnswer | undefined {
    const answered = readClaim(answer)
    if (answered?.verdict === 'unreadable') {
      return { ...answered, found: `${this.#names.of(key)}: ${answered.found}` }
    }
    if (answered === undefined || !('fence' in answered)) return answered
    const { verdict, fence, attempt } = answered
    return { verdict, fence, attempt, claim: { key, digest, scope, token, fence, attempt, retentionMs } }
  }

  /** A mark of another process settles a duplicate only when it is as durable as this process's own marks. */
  async #confirm(items: readonly ClaimItem[]): Promise<void> {
    if (items.length === 0) return
    const answers = await this.#line.run({
      script: CONFIRM,
      items,
      argumentsOf: () => [],
      read: (answer): 'done' | 'gone' | undefined => (answer === 'done' || answer === 'gone' ? answer : undefined),
      durable: true,
    })
    if (answers.includes('gone')) {
      throw new StoreError('STORE_AMBIGUOUS', 'Redis: what was read as done was gone before it was durable')
    }
  }

  async renew(claims: readonly Claim[], leaseMs: DurationMs): Promise<readonly RenewVerdict[]> {
    if (this.marksFirst) return claims.map(() => 'renewed')
    return this.#line.run({
      script: RENEW,
      items: claims,
      argumentsOf: (part) => [wholeMs(leaseMs), ...part.map(ownerOf)],
      read: readRenew,
      withinMs: this.#within(leaseMs),
    })
  }

  async mark(claims: readonly Claim[], results: readonly (Result | undefined)[] = []): Promise<readonly MarkVerdict[]> {
    return this.marksFirst ? claims.map(() => 'marked') : this.#mark(claims, results)
  }

  async #mark(claims: readonly Claim[], results: readonly (Result | undefined)[]): Promise<readonly MarkVerdict[]> {
    const kept = new Map<Claim, Result>()
    for (const [at, result] of results.entries()) {
      const claim = claims[at]
      if (claim !== undefined && result !== undefined) kept.set(claim, result)
    }
    return this.#line.run({
      script: MARK,
      items: claims,
      argumentsOf: (part) => markArguments(part, kept),
      read: readMark,
      durable: true,
    })
  }

  async release(
    claims: readonly Claim[],
    { refund, doubt, delayMs = 0, cause = '' }: ReleaseOptions,
  ): Promise<readonly ReleaseVerdict[]> {
    if (this.marksFirst) {
      // After an outcome that nobody knows the mark stays: the effect never happens twice.
      if (doubt) return claims.map(() => 'released')
      await this.#unmark(claims)
    }
    return this.#line.run({
      script: RELEASE,
      items: claims,
      argumentsOf: (part) => [refund ? 1 : 0, doubt ? 1 : 0, wholeMs(delayMs), cause, ...part.map(ownerOf)],
      read: readRelease,
    })
  }

  async setAside(
    claims: readonly Claim[],
    as: 'given-up' | 'parked',
    { reason, refund = false, cause = '' }: SetAsideOptions,
  ): Promise<readonly SetAsideVerdict[]> {
    if (this.marksFirst) await this.#unmark(claims)
    return this.#line.run({
      script: SET_ASIDE,
      items: claims,
      argumentsOf: (part) => [as === 'given-up' ? 'G' : 'X', reason, refund ? 1 : 0, cause, ...part.map(ownerOf)],
      read: readSetAside,
      durable: true,
    })
  }

  async #unmark(claims: readonly Claim[]): Promise<void> {
    await this.#line.run({
      script: UNMARK,
      items: claims,
      argumentsOf: (part) => part.map(ownerOf),
      read: (answer) => (answer === 'ready' ? answer : undefined),
    })
  }

  /** A renewal that hangs must leave time for another one before the lease ends. */
  #within(leaseMs: DurationMs): DurationMs {
    return Math.min(this.#timeoutMs, Math.max(leaseMs / 3, LEAST_TIMEOUT_MS))
  }
}

/** The scope of the test keys. No consumer has it. */
const TRIAL = ''

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 500

/** Bars separate the fields of a record, and a line break or the tag of the scope ends a token. */
function refuseBars(token: string, items: readonly ClaimItem[]): void {
  const field = /[|\n~]/.test(token) ? token : items.find(({ digest }) => digest.includes('|'))?.digest
  if (field === undefined) return
  throw new StoreError(
    'STORE_MISUSED',
    `a token or digest must not contain '|', and a token neither '${BEFORE_TAG}' nor a line break, got '${field}'`,
  )
}

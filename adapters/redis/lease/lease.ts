import {
  ConfigError,
  describeError,
  hasCode,
  sequencesOver,
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
  type ResolvedSequences,
  type SequenceLedger,
  type StoreAdmin,
} from '../../../src/spi.ts'
import { RedisAdmin } from './admin.ts'
import { adviceOnRefusal, isWithoutRight } from './answers-within.ts'
import { checkServers } from './check-servers.ts'
import { checkClaim, checkup } from './checkup.ts'
import { NotFarEnoughError, type Durability } from './durability.ts'
import { KeyNames } from './key-names.ts'
import type { ResolvedLease } from './options.ts'
import { BEFORE_TAG, ownerOf } from './owners.ts'
import type { RedisPort } from './redis-port.ts'
import { readClaim, readMark, readRelease, readRenew, readSetAside } from './replies.ts'
import { ScriptLine } from './script-line.ts'
import { CLAIM, digestArguments } from './scripts/claim.ts'
import { CONFIRM } from './scripts/confirm.ts'
import { MARK, markArguments } from './scripts/mark.ts'
import { RELEASE } from './scripts/release.ts'
import { RENEW } from './scripts/renew.ts'
import { SET_ASIDE } from './scripts/set-aside.ts'
import { RedisSequenceLedger } from './sequence-ledger.ts'
import { wholeMs } from './whole-ms.ts'

/** The store, for any client. */
export function leaseOver(
  redis: RedisPort,
  options: ResolvedLease,
): LeaseStore & Required<Pick<LeaseStore, 'admin' | 'checkup' | 'onReachable'>> {
  return new RedisLease(redis, options)
}

/** The same, with one record for each source of what is done. */
export function sequencesIn(redis: RedisPort, options: ResolvedLease, sequences: ResolvedSequences): LeaseStore {
  const lease = new RedisLease(redis, options)
  return sequencesOver(lease, lease.sequences, { ...sequences, name: 'redis-sequences' })
}

/** Lower limit of a call's timeout, however short the lease: the server may only be slow. */
const LEAST_TIMEOUT_MS = 500

class RedisLease implements LeaseStore {
  readonly strategy = 'lease'
  readonly name = 'redis-lease'
  /** With durability above `memory`, marks are sent in groups, apart from claims. */
  readonly inOrder: boolean
  readonly admin: StoreAdmin
  readonly sequences: SequenceLedger
  readonly #redis: RedisPort
  readonly #names: KeyNames
  readonly #line: ScriptLine
  readonly #shards: number
  readonly #timeoutMs: DurationMs
  readonly #durability: Durability

  constructor(redis: RedisPort, { prefix, shards, timeoutMs, durability }: ResolvedLease) {
    const names = (this.#names = new KeyNames(prefix, shards))
    this.#redis = redis
    this.#line = new ScriptLine(redis, names, timeoutMs, durability)
    this.admin = new RedisAdmin(redis, names, this.#line, shards)
    this.sequences = new RedisSequenceLedger(names, this.#line)
    this.#shards = shards
    this.#timeoutMs = timeoutMs
    this.#durability = durability
    this.inOrder = redis.isOneLine && durability.kind === 'memory'
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
    }))
    const answers = await this.claim({ scope: TRIAL, token, leaseMs: 1_000, retentionMs: 1_000, alone: true, items })
    const claims = answers.flatMap((answer) => ('claim' in answer ? [answer.claim] : []))
    await this.mark(claims)
    // Once more: a record that is not as it was claimed is read by another command, which is a right of its own.
    await this.mark(claims)
  }

  async claim({ scope, token, leaseMs, retentionMs, alone, items }: ClaimRequest): Promise<readonly LeaseAnswer[]> {
    refuseBars(token, items)
    const owner = ownerOf({ token, scope })
    const answers = await this.#line.run({
      script: CLAIM,
      items,
      addKeys: (words, [first]) => {
        if (scope === TRIAL || first === undefined) return
        words.push(this.#names.since(scope, this.#redis.isCluster ? this.#names.shardOf(first.key) : undefined))
      },
      argumentsOf: (part) => [owner, wholeMs(leaseMs), wholeMs(retentionMs), alone ? 1 : 0, ...digestArguments(part)],
      read: (answer, { key, digest }: ClaimItem): LeaseAnswer | undefined => {
        const answered = readClaim(answer)
        if (answered?.verdict === 'unreadable') {
          return { ...answered, found: `${this.#names.of(key)}: ${answered.found}` }
        }
        if (answered === undefined || !('fence' in answered)) return answered
        const { verdict, fence, attempt } = answered
        return { verdict, fence, attempt, claim: { key, digest, scope, token, fence, attempt, retentionMs } }
      },
      withinMs: this.#within(leaseMs),
    })
    if (this.#durability.kind !== 'memory') {
      await this.#confirm(items.filter((_, at) => answers[at]?.verdict === 'done')) // mutant: redis-duplicate-unconfirmed
    }
    return answers
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
    return this.#line.run({
      script: RENEW,
      items: claims,
      argumentsOf: (part) => [wholeMs(leaseMs), ...part.map(ownerOf)],
      read: readRenew,
      withinMs: this.#within(leaseMs),
    })
  }

  async mark(claims: readonly Claim[], results: readonly (Result | undefined)[] = []): Promise<readonly MarkVerdict[]> {
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
    return this.#line.run({
      script: SET_ASIDE,
      items: claims,
      argumentsOf: (part) => [as === 'given-up' ? 'G' : 'X', reason, refund ? 1 : 0, cause, ...part.map(ownerOf)],
      read: readSetAside,
      durable: true,
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

/**
 * True for errors that pass: a closed connection, a server that loads its file, a cluster that is not complete yet.
 * ioredis asks CLUSTER INFO first; if that says `cluster_state:fail`, as a new cluster does for a moment, it closes the
 * connections of all nodes ("Connection is closed.") and reconnects.
 */
function isPassing(error: unknown): boolean {
  if (error instanceof NotFarEnoughError || !(error instanceof StoreError) || isWithoutRight(error)) return false
  if (isNeverConnected(error)) return false
  return error.code === 'STORE_AMBIGUOUS' || /\b(?:LOADING|CLUSTERDOWN|TRYAGAIN|MASTERDOWN)\s/.test(error.message)
}

/** A node-redis client on which `connect()` was not called. */
function isNeverConnected({ message }: Error): boolean {
  return /client is closed/i.test(message)
}

/** What to do about a server that takes no writes as it is; `undefined` for other errors. */
function whyNoWrites({ message }: Error): string | undefined {
  const [, code = ''] = /(?:^|[\s-])(READONLY|OOM|MISCONF|NOREPLICAS)\s/.exec(message) ?? []
  return NO_WRITES.get(code)
}

const NO_WRITES: ReadonlyMap<string, string> = new Map([
  ['READONLY', 'This server is a replica: give the store a client of its primary'],
  ['OOM', 'It is full: raise its maxmemory, or remove keys that nobody needs (with maxmemory-policy noeviction)'],
  ['MISCONF', 'It cannot write its snapshots, and takes no writes until it can: see to its disk and its log'],
  ['NOREPLICAS', 'It has fewer replicas than min-replicas-to-write asks for: see to its replicas'],
])

/** What to do about a store that does not open. */
function adviceFor(error: Error, durability: Durability): string {
  if (error instanceof NotFarEnoughError) {
    return durability.kind === 'fsync'
      ? "Its disk or its replicas are too slow, or replicas are missing: see to them, raise durableWithinMs, or choose durability 'memory'"
      : "Attach as many replicas as marks wait for, ask for fewer (replicas), raise durableWithinMs if they are only slow, or choose durability 'memory'"
  }
  if (isNeverConnected(error)) {
    return 'It was never connected, or closed since: `await client.connect()` before it is given to redisLease()'
  }
  const why = whyNoWrites(error)
  if (why !== undefined) return why
  const ofRefusal = adviceOnRefusal(error.message)
  if (ofRefusal !== undefined) return ofRefusal
  return 'Check that it is up and that the client given to redisLease() has its address'
}

/** Bars separate the fields of a record, and a line break or the tag of the scope ends a token. */
export function refuseBars(token: string, items: readonly ClaimItem[]): void {
  const field = /[|\n~]/.test(token) ? token : items.find(({ digest }) => digest.includes('|'))?.digest
  if (field === undefined) return
  throw new StoreError(
    'STORE_MISUSED',
    `a token or digest must not contain '|', and a token neither '${BEFORE_TAG}' nor a line break, got '${field}'`,
  )
}

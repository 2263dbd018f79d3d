import type { Digest, Key } from '../../src/core/record.ts'
import { isFailure } from '../../src/core/result.ts'
import { StoreError } from '../../src/foundation/errors.ts'
import type {
  Claim,
  ClaimAnswer,
  ClaimItem,
  ClaimRequest,
  Positions,
  Store,
  StoreCalls,
  Strategy,
} from '../../src/ports/store.ts'
import type { Happening, Subject } from '../history.ts'
import type { SimProcess } from './process.ts'
import type { Stage } from './stage.ts'

/** After this time a call without an answer is given up: its result is unknown. */
const CALL_TIMEOUT_MS = 120

/** Readable names for keys and digests in a history. */
export interface Names {
  subjectOf(item: Pick<ClaimItem, 'key' | 'position'>): Subject
  printOf(digest: Digest): string
}

/**
 * One process's connection to a store, with a log of the store's actions. Requests and replies are lost or late, and
 * the process dies before, between and after them. A request in flight arrives even if its sender is dead.
 */
export class FaultyStore<Tx> implements StoreCalls<ClaimAnswer<Tx>> {
  readonly strategy: Strategy
  /** Calls are delayed independently, so the claim of order is never true: only speed may rely on it. */
  readonly inOrder: boolean
  readonly positions?: Positions
  readonly #store: StoreCalls<ClaimAnswer<Tx>>
  readonly #process: SimProcess
  readonly #stage: Stage
  readonly #names: Names
  /** Subjects of granted claims: in strategy `offsets` the keys alone do not show them. */
  readonly #subjects = new Map<Key, Subject>()
  readonly #tokens = new Map<Subject, string>()

  constructor(
    store: Store<Tx>,
    { process, stage, names, inOrder }: { process: SimProcess; stage: Stage; names: Names; inOrder: boolean },
  ) {
    this.#store = store
    this.#process = process
    this.#stage = stage
    this.#names = names
    this.strategy = store.strategy
    this.inOrder = inOrder
    if (store.strategy !== 'offsets') return
    const { positions } = store
    this.positions = {
      next: (scope, streams) => this.#call('positions', () => positions.next(scope, streams)),
      pass: (scope, position) => this.#call('pass', () => positions.pass(scope, position)),
      hold: (scope, at, why) => this.#call('hold', () => positions.hold(scope, at, why)),
      prove: (scope, at) => this.#call('prove', () => positions.prove(scope, at)),
      list: (scope) => positions.list(scope),
      release: (scope, stream, how) => positions.release(scope, stream, how),
    }
  }

  /** The token of the last granted claim, under which a handler that starts now runs. */
  tokenOf(subject: Subject): string {
    return this.#tokens.get(subject) ?? 'no token'
  }

  open(): Promise<void> {
    return this.#store.open()
  }

  claim(request: ClaimRequest): Promise<readonly ClaimAnswer<Tx>[]> {
    const { items, token, leaseMs, retentionMs } = request
    const subjects = items.map((item) => this.#names.subjectOf(item))
    for (const subject of subjects) this.#record({ f: 'claim', type: 'invoke', subject, token })
    return this.#call('claim', async () => {
      const answers = await this.#store.claim(request)
      for (const [index, answer] of answers.entries()) {
        const item = items[index]
        const subject = subjects[index]
        if (item === undefined || subject === undefined) continue
        const verdict = answer.verdict === 'again-alone' || answer.verdict === 'behind' ? 'other' : answer.verdict
        const asked = {
          f: 'claim',
          type: 'ok',
          subject,
          token,
          verdict,
          ...this.#printOf(item),
        } as const
        if ('claim' in answer) {
          this.#subjects.set(item.key, subject)
          this.#tokens.set(subject, token)
          const { now } = this.#stage.timeline
          const [until, keepUntil] = this.strategy === 'lease' ? [now + leaseMs, now + retentionMs] : []
          this.#record({ ...asked, fence: answer.fence, attempt: answer.attempt, until, keepUntil })
        } else this.#record(asked)
      }
      return answers
    })
  }

  renew(claims: readonly Claim[], leaseMs: number): ReturnType<Store<Tx>['renew']> {
    return this.#call('renew', async () => {
      const verdicts = await this.#store.renew(claims, leaseMs)
      const until = this.strategy === 'lease' ? this.#stage.timeline.now + leaseMs : undefined
      this.#applied(
        claims,
        verdicts,
        (verdict, of) => verdict === 'renewed' && { f: 'renew', type: 'ok', ...of, until },
      )
      return verdicts
    })
  }

  mark(...[claims, results]: Parameters<StoreCalls['mark']>): ReturnType<Store<Tx>['mark']> {
    this.#asked(claims, (of) => ({ f: 'mark', type: 'invoke', ...of }))
    return this.#call('mark', async () => {
      const verdicts = await this.#store.mark(claims, results)
      this.#applied(claims, verdicts, (verdict, of, index) => {
        if (verdict === 'already-marked') return false
        if (verdict !== 'marked' && verdict !== 'marked-late') return { f: 'mark', type: 'fail', ...of }
        const result = results?.[index]
        const without = result !== undefined && isFailure(result) ? ({ without: 'failure' } as const) : {}
        const until = this.#stage.timeline.now + (claims[index]?.retentionMs ?? 0)
        return { f: 'mark', type: 'ok', ...of, until, ...without }
      })
      return verdicts
    })
  }

  release(...[claims, how]: Parameters<StoreCalls['release']>): ReturnType<Store<Tx>['release']> {
    const { refund, doubt, delayMs = 0 } = how
    this.#asked(claims, (of) => ({ f: 'release', type: 'invoke', ...of, refund, doubt }))
    return this.#call('release', async () => {
      const verdicts = await this.#store.release(claims, how)
      this.#applied(claims, verdicts, (verdict, of) => {
        if (verdict !== 'released') return false
        // Strategy `offsets` has no backoff in the store: one consumer at a time has a partition, and reads it in
        // order.
        const isKept = delayMs > 0 && this.strategy !== 'offsets'
        const notBefore = isKept ? this.#stage.timeline.now + delayMs : undefined
        return { f: 'release', type: 'ok', ...of, refund, doubt, notBefore }
      })
      return verdicts
    })
  }

  setAside(...[claims, as, why]: Parameters<StoreCalls['setAside']>): ReturnType<Store<Tx>['setAside']> {
    const { reason } = why
    this.#asked(claims, (of) => ({ f: 'set-aside', type: 'invoke', ...of, as, reason }))
    return this.#call('setAside', async () => {
      const verdicts = await this.#store.setAside(claims, as, why)
      this.#applied(
        claims,
        verdicts,
        (verdict, of) => verdict !== 'refused' && { f: 'set-aside', type: 'ok', ...of, as: verdict, reason },
      )
      return verdicts
    })
  }

  #asked(claims: readonly Claim[], happening: (of: Of) => Happening): void {
    for (const claim of claims) this.#record(happening(this.#ofClaim(claim)))
  }

  #applied<V>(
    claims: readonly Claim[],
    verdicts: readonly V[],
    happening: (verdict: V, of: Of, index: number) => Happening | false,
  ): void {
    for (const [index, claim] of claims.entries()) {
      const verdict = verdicts[index]
      const applied = verdict !== undefined && happening(verdict, this.#ofClaim(claim), index)
      if (applied !== false) this.#record(applied)
    }
  }

  #ofClaim({ key, token }: Claim): Of {
    const subject = this.#subjects.get(key)
    if (subject === undefined) throw new TypeError('a claim that was not granted here (faulty-store)')
    return { subject, token }
  }

  #call<T>(name: string, apply: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#stage.step(this.#process, `before ${name}`, () => this.#send({ name, apply, resolve, reject }))
    })
  }

  #send<T>({ name, apply, resolve, reject }: Call<T>): void {
    const stage = this.#stage
    const { faults } = stage
    const process = this.#process
    const failed = (code: 'STORE_UNREACHABLE' | 'STORE_AMBIGUOUS', afterMs: number): void => {
      process.after(afterMs, () => reject(new StoreError(code, name)))
    }
    if (faults.isStoreDown) return failed('STORE_UNREACHABLE', 2)
    if (faults.happens('requestLost')) return failed('STORE_UNREACHABLE', CALL_TIMEOUT_MS)
    const arrive = async (): Promise<void> => {
      try {
        const answer = await apply()
        stage.step(process, `after ${name}`, () => {
          if (faults.happens('replyLost')) return failed('STORE_AMBIGUOUS', CALL_TIMEOUT_MS)
          process.after(faults.latencyMs(), () => stage.step(process, `answered ${name}`, () => resolve(answer)))
        })
      } catch (error) {
        process.after(faults.latencyMs(), () => reject(error))
      }
    }
    stage.travel(() => void arrive())
  }

  /** Strategy `offsets` compares no payloads. */
  #printOf({ digest }: ClaimItem): { readonly print?: string } {
    return this.strategy === 'offsets' ? {} : { print: this.#names.printOf(digest) }
  }

  #record(happening: Happening): void {
    this.#stage.record(this.#process.name, happening)
  }
}

interface Call<T> {
  readonly name: string
  readonly apply: () => Promise<T>
  readonly resolve: (answer: T) => void
  readonly reject: (error: unknown) => void
}

interface Of {
  readonly subject: Subject
  readonly token: string
}

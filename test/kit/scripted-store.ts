import type { ReleaseOptions, SetAsideOptions, Store, StoreCalls, Strategy } from '../../src/ports/store.ts'
import type { MarkVerdict, Result, ReleaseVerdict, RenewVerdict, SetAsideVerdict } from '../../src/core/record.ts'
import type { Claim, ClaimAnswer, ClaimRequest, Positions } from '../../src/ports/store.ts'
import { StoreError } from '../../src/foundation/errors.ts'

export type StoreCall = 'claim' | 'renew' | 'mark' | 'release' | 'setAside'

/** Result of one call. */
type Fault =
  /** Nothing is applied, the caller gets an error. */
  | 'lose-request'
  /** It is applied, the caller gets an error. */
  | 'lose-reply'
  /** Nothing is applied, the caller gets this error. */
  | Error
  /** It is applied and answered too short: a store with a bug. */
  | 'answer-too-few'
  /** It is applied, and this is made of its answers: a store with a bug. */
  | ((answers: readonly unknown[]) => readonly unknown[])
  /** It is applied and answered when the promise resolves. */
  | Promise<unknown>

interface SeenCall {
  readonly call: StoreCall
  readonly keys: readonly string[]
  readonly token: string | undefined
  readonly alone: boolean | undefined
  readonly refund: boolean | undefined
}

export type ScriptedStore<Tx> = Scripted<Tx> & Store<Tx>

/** A store with faults by script, which remembers what it was asked. */
export function scriptedStore<Tx = never>(store: Store<Tx>, journal?: string[]): ScriptedStore<Tx> {
  return new Scripted(store, journal) as ScriptedStore<Tx>
}

class Scripted<Tx> implements StoreCalls<ClaimAnswer<Tx>> {
  readonly strategy: Strategy
  readonly positions?: Positions
  onReachable?: (listener: () => void) => () => void
  /** As it says; a script may lie. */
  inOrder = false
  readonly seen: SeenCall[] = []
  /** Every call fails, and does nothing. */
  isDown = false
  /** Called before a call is applied, for tests that step in between. */
  onCall: ((seen: SeenCall) => void) | undefined
  readonly #store: StoreCalls<ClaimAnswer<Tx>>
  readonly #script = new Map<StoreCall, Fault[]>()
  readonly #journal: string[]

  constructor(store: Store<Tx>, journal: string[] = []) {
    this.#store = store
    this.strategy = store.strategy
    if (store.strategy === 'offsets') {
      const { positions } = store
      this.positions = {
        next: async (scope, streams) => this.#whileUp(() => positions.next(scope, streams)),
        pass: async (scope, position) => this.#whileUp(() => positions.pass(scope, position)),
        hold: async (scope, at, why) => this.#whileUp(() => positions.hold(scope, at, why)),
        prove: async (scope, at) => this.#whileUp(() => positions.prove(scope, at)),
        list: async (scope) => this.#whileUp(() => positions.list(scope)),
        release: async (scope, stream, how) => this.#whileUp(() => positions.release(scope, stream, how)),
      }
    }
    this.#journal = journal
  }

  /** The next calls of that kind meet these faults, in order. */
  script(call: StoreCall, ...faults: readonly Fault[]): void {
    this.#script.set(call, [...(this.#script.get(call) ?? []), ...faults])
  }

  calls(call: StoreCall): readonly SeenCall[] {
    return this.seen.filter((one) => one.call === call)
  }

  open(): Promise<void> {
    return this.#store.open()
  }

  claim(request: ClaimRequest): Promise<readonly ClaimAnswer<Tx>[]> {
    const { token, alone, items } = request
    const seen = { keys: items.map(({ key }) => key), token, alone, refund: undefined }
    return this.#apply({ call: 'claim', ...seen }, () => this.#store.claim(request))
  }

  renew(claims: readonly Claim[], leaseMs: number): Promise<readonly RenewVerdict[]> {
    return this.#apply(seenClaims('renew', claims), () => this.#store.renew(claims, leaseMs))
  }

  mark(claims: readonly Claim[], results?: readonly (Result | undefined)[]): Promise<readonly MarkVerdict[]> {
    return this.#apply(seenClaims('mark', claims), () => this.#store.mark(claims, results))
  }

  release(claims: readonly Claim[], how: ReleaseOptions): Promise<readonly ReleaseVerdict[]> {
    return this.#apply({ ...seenClaims('release', claims), refund: how.refund }, () => this.#store.release(claims, how))
  }

  setAside(
    claims: readonly Claim[],
    as: 'given-up' | 'parked',
    why: SetAsideOptions,
  ): Promise<readonly SetAsideVerdict[]> {
    return this.#apply(seenClaims('setAside', claims), async () => {
      const verdicts = await this.#store.setAside(claims, as, why)
      this.#journal.push(...verdicts.map((verdict) => `record ${verdict}`))
      return verdicts
    })
  }

  #whileUp<T>(call: () => Promise<T>): Promise<T> {
    if (this.isDown) throw new StoreError('STORE_UNREACHABLE', 'request lost')
    return call()
  }

  async #apply<T>(seen: SeenCall, call: () => Promise<readonly T[]>): Promise<readonly T[]> {
    this.seen.push(seen)
    this.onCall?.(seen)
    const fault = this.isDown ? 'lose-request' : this.#script.get(seen.call)?.shift()
    if (fault === 'lose-request') throw new StoreError('STORE_UNREACHABLE', 'request lost')
    if (fault instanceof Error) throw fault
    const answers = await call()
    if (seen.call === 'mark') this.#journal.push(...answers.map((verdict) => `mark ${String(verdict)}`))
    if (fault === 'lose-reply') throw new StoreError('STORE_AMBIGUOUS', 'reply lost')
    if (fault === 'answer-too-few') return answers.slice(1)
    if (typeof fault === 'function') return fault(answers) as readonly T[]
    if (fault !== undefined) await fault
    return answers
  }
}

function seenClaims(call: StoreCall, claims: readonly Claim[]): SeenCall {
  return { call, keys: claims.map(({ key }) => key), token: claims[0]?.token, alone: undefined, refund: undefined }
}

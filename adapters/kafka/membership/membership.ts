import { setTimeout as sleep } from 'node:timers/promises'
import { backoffMs, describeError, StoppedError, systemEntropy } from '../../../src/internal.ts'
import type { GroupMember, KafkaClient, MemberConfig, MemberControl, MemberListener, MemberOptions } from '../client.ts'

export interface MembershipOptions extends Omit<MemberOptions, 'topics'> {
  readonly client: KafkaClient
  /** The topics to join with, requested before each join but the first. */
  readonly topics: () => Promise<readonly string[]>
  /** How the next consumer fetches, if not as `consumer` says. */
  readonly fetching?: () => Pick<MemberConfig, 'minBytes' | 'maxBytes' | 'maxBytesPerPartition'>
  /** Whether the first start goes on after this error. */
  readonly isWorthAnotherTry: (error: unknown) => Promise<boolean>
}

/** Called synchronously from inside kafkajs: none of these may throw. */
export interface MembershipListener extends Omit<MemberListener, 'ended'> {
  /** There is no consumer until further notice. `detail` is for people. */
  waiting(detail: string): void
}

const BACKOFF = { initialMs: 250, maxMs: 10_000 }
/**
 * How long the first start waits for a coordinator that is loading, a partition without a leader, or the rest of the
 * cluster to take over from a broker that died. kafkajs gives up earlier.
 */
const START_WITHIN_MS = 30_000
export const LEAVE_WITHIN_MS = 5_000

/** A time without membership, by order. */
class Absence {
  readonly over: Promise<void>
  end: () => void = () => {}

  constructor() {
    this.over = new Promise((resolve) => (this.end = resolve))
  }
}

/** The membership in the group: one run, and after it ended the next, until `leave()`. */
export class Membership {
  readonly #options: MembershipOptions
  readonly #listener: MembershipListener
  readonly #leaving = new AbortController()
  #run: GroupMember | undefined
  /** The last run that has ended or was told to end, so that each ends only once. */
  #over: GroupMember | undefined
  #rebuilding: Promise<void> | undefined
  #absence: Absence | undefined

  constructor(options: MembershipOptions, listener: MembershipListener) {
    this.#options = options
    this.#listener = listener
  }

  /** For pause, seek and the like. Its methods may throw: there is no group between a crash and the next join. */
  get consumer(): MemberControl | undefined {
    return this.#run?.consumer
  }

  /** Between a crash and the next join there is no group to seek in. The next join begins at the committed offset. */
  seek({ topic, partition }: { readonly topic: string; readonly partition: number }, offset: bigint): void {
    try {
      this.consumer?.seek({ topic, partition, offset: offset.toString() })
    } catch {
      // The join decides anew.
    }
  }

  /**
   * Runs `prepare`, joins the group with the topics that it resolves with, and resolves. Rejects if one of them fails at
   * the first start, after all retries of kafkajs. If another try is worth it, both are tried again for a while.
   */
  async start(prepare: () => Promise<readonly string[]>): Promise<void> {
    const { isWorthAnotherTry } = this.#options
    const deadline = performance.now() + START_WITHIN_MS
    let isPrepared = false
    let topics: readonly string[] | undefined
    for (let attempt = 1; ; attempt++) {
      try {
        if (!isPrepared) topics = await prepare()
        isPrepared = true
        const prepared = topics
        topics = undefined // Those of another try may differ.
        return await this.#join(prepared)
      } catch (error) {
        if (performance.now() > deadline || !(await isWorthAnotherTry(error))) throw error
        await this.#pause(attempt, error)
      }
    }
  }

  /** Never rejects. If kafkajs is still joining a broker that does not answer, the rest happens in the background. */
  async leave(): Promise<void> {
    this.#leaving.abort()
    this.comeBack()
    const left = Promise.all([this.#run?.stop(), this.#rebuilding])
    const given = new AbortController()
    await Promise.race([left, sleep(LEAVE_WITHIN_MS, undefined, { signal: given.signal }).catch(() => {})])
    given.abort()
  }

  async #join(prepared?: readonly string[]): Promise<void> {
    if (this.#leaving.signal.aborted) throw new StoppedError('stopped while it joined')
    const { client, ...options } = this.#options
    const consumerConfig = { ...options.consumerConfig, ...options.fetching?.() }
    const topics = prepared ?? (await options.topics())
    const ended = (error: Error): void => this.#ended(run, error)
    const run: GroupMember = await client.member({ ...options, consumerConfig, topics }, { ...this.#listener, ended })
    if (this.#leaving.signal.aborted) throw new StoppedError('stopped while it joined')
    this.#run = run
    try {
      await run.start()
    } catch (error) {
      await run.stop()
      throw error
    }
  }

  /** Leaves the group and joins it again, with the topics of that time. */
  rejoin(why: string): void {
    const run = this.#run
    if (run?.hasJoined === true && !this.#leaving.signal.aborted) this.#ended(run, new Error(why))
  }

  /** Leaves the group, and joins it again after `comeBack()`. */
  stepAside(): void {
    if (this.#absence !== undefined || this.#leaving.signal.aborted) return
    this.#absence = new Absence()
    const run = this.#run
    // Otherwise the next run is being built, and waits.
    if (run?.hasJoined === true) this.#replace(run, new Error('left the group'))
  }

  comeBack(): void {
    this.#absence?.end()
    this.#absence = undefined
  }

  #ended(run: GroupMember, error: Error): void {
    if (this.#replace(run, error)) this.#options.report('connection-lost', describeError(error))
  }

  /** `false`: its successor is being built already. */
  #replace(run: GroupMember, why: Error): boolean {
    if (this.#over === run) return false
    this.#over = run
    this.#listener.halted()
    this.#rebuilding = this.#rebuild(why)
    return true
  }

  /** The old consumer must have left the group before a new one joins. */
  async #rebuild(cause: unknown): Promise<void> {
    let error = cause
    for (let attempt = 1; !this.#leaving.signal.aborted; attempt++) {
      try {
        await this.#isAway()
        await this.#pause(attempt, error)
        await this.#run?.stop()
        if (this.#absence !== undefined) continue
        await this.#join()
        if (this.#absence !== undefined) continue // Its run is stopped as the first step.
        return this.#options.report('rebuilt', `attempt ${attempt}`)
      } catch (failure) {
        error = failure
      }
    }
  }

  /** Resolves at the end of the absence, if there is one. The member has left the group by then. */
  async #isAway(): Promise<void> {
    const absence = this.#absence
    if (absence === undefined) return
    await this.#run?.stop()
    await absence.over
  }

  async #pause(attempt: number, error: unknown): Promise<void> {
    this.#listener.waiting(`reconnecting, attempt ${attempt}: ${describeError(error)}`)
    const { signal } = this.#leaving
    await sleep(backoffMs(attempt, BACKOFF, systemEntropy.fraction()), undefined, { signal }).catch(() => {
      throw new StoppedError('stopped while it waited to join again')
    })
  }
}

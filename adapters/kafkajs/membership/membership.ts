import { setTimeout as sleep } from 'node:timers/promises'
import { backoffMs, describeError, StoppedError, systemEntropy } from '../../../src/index.ts'
import { isTransient } from '../protocol-error.ts'
import { Session, type SessionListener, type SessionOptions } from './session.ts'
import type { ConsumerLike } from '../slice.ts'

/** What a membership tells, synchronously, from inside kafkajs: none of these may throw. */
export interface MembershipListener extends Omit<SessionListener, 'ended'> {
  /** There is no consumer until further notice. For people. */
  waiting(detail: string): void
}

const BACKOFF = { initialMs: 250, maxMs: 10_000 }
/** How long the first start bears with a coordinator that loads. kafkajs gives up on that at once. */
const START_WITHIN_MS = 30_000
const LEAVE_WITHIN_MS = 5_000

/** Being a member of the group: a session, and after it ended the next one, until `leave()`. */
export class Membership {
  readonly #options: SessionOptions
  readonly #listener: MembershipListener
  readonly #leaving = new AbortController()
  #session: Session | undefined
  #rebuilding: Promise<void> | undefined

  constructor(options: SessionOptions, listener: MembershipListener) {
    this.#options = options
    this.#listener = listener
  }

  /** To pause, seek and the like. Its methods may throw: there is no group between a crash and the next join. */
  get consumer(): ConsumerLike | undefined {
    return this.#session?.consumer
  }

  /** Resolves when the group was joined. Rejects when that fails at the first time, after all of kafkajs's retries. */
  async start(): Promise<void> {
    const deadline = performance.now() + START_WITHIN_MS
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#join()
      } catch (error) {
        if (!isTransient(error) || performance.now() > deadline) throw error
        await this.#pause(attempt, error)
      }
    }
  }

  /** Never rejects. Where kafkajs is still joining a broker that does not answer, the rest is done in the background. */
  async leave(): Promise<void> {
    this.#leaving.abort()
    const left = Promise.all([this.#session?.stop(), this.#rebuilding])
    const given = new AbortController()
    await Promise.race([left, sleep(LEAVE_WITHIN_MS, undefined, { signal: given.signal }).catch(() => {})])
    given.abort()
  }

  async #join(): Promise<void> {
    if (this.#leaving.signal.aborted) throw new StoppedError('stopped while it joined')
    const session = new Session(this.#options, { ...this.#listener, ended: (error) => this.#ended(error) })
    this.#session = session
    try {
      await session.start()
    } catch (error) {
      await session.stop()
      throw error
    }
  }

  #ended(error: Error): void {
    this.#listener.halted()
    this.#options.report('connection-lost', describeError(error))
    this.#rebuilding = this.#rebuild(error)
  }

  /** The old consumer has left the group before a new one joins. */
  async #rebuild(cause: unknown): Promise<void> {
    let error = cause
    for (let attempt = 1; !this.#leaving.signal.aborted; attempt++) {
      try {
        await this.#pause(attempt, error)
        await this.#session?.stop()
        await this.#join()
        return this.#options.report('rebuilt', `attempt ${attempt}`)
      } catch (failure) {
        error = failure
      }
    }
  }

  async #pause(attempt: number, error: unknown): Promise<void> {
    this.#listener.waiting(`reconnecting, attempt ${attempt}: ${describeError(error)}`)
    const { signal } = this.#leaving
    await sleep(backoffMs(attempt, BACKOFF, systemEntropy.fraction()), undefined, { signal })
  }
}

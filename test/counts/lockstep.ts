import type { Counted } from './expected.ts'

/** What is asked of a server, with nothing else between the ask and the answer. */
type Ask = () => Promise<() => void>

/** Turns of the event loop in which nothing was asked, until nothing more will be asked before an answer. */
const QUIET_TURNS = 30

/**
 * Servers in rounds: no answer is given before the consumer has asked for all that it asks for without one. So what it
 * asks together is decided by the library, and not by who was quicker.
 */
export class Lockstep {
  readonly #isTogether: boolean
  #waiting: Ask[] = []
  #asked = 0
  #isRunning = false
  #rounds = 0
  readonly #calls: Record<string, number> = {}

  /** `isTogether`: what one round asks is sent in one turn. Otherwise one ask waits for the answer of the one before. */
  constructor(isTogether: boolean) {
    this.#isTogether = isTogether
  }

  /** Rounds so far, each one round trip if servers answer all equally quickly. */
  get rounds(): number {
    return this.#rounds
  }

  /** By what was called, on what `through` returned. */
  get calls(): Counted {
    return { ...this.#calls }
  }

  ask<T>(call: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#asked++
      this.#waiting.push(async () => {
        try {
          const answer = await call()
          return () => resolve(answer)
        } catch (error) {
          return () => reject(error)
        }
      })
      if (!this.#isRunning) void this.#run()
    })
  }

  /** Resolves when nothing is asked any more. */
  async rest(): Promise<void> {
    do await this.#quiet()
    while (this.#isRunning)
  }

  /** A store or a publisher whose calls are asked so. */
  through<S extends object>(server: S): S {
    return new Proxy(server, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target)
        if (typeof value !== 'function') return value
        const call = (...given: unknown[]): unknown => Reflect.apply(value, target, given)
        const told = CALLS.get(name)
        if (told === undefined) return call
        return (...given: unknown[]) => {
          this.#calls[told] = (this.#calls[told] ?? 0) + 1
          return this.ask(async () => call(...given))
        }
      },
    })
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    await this.#quiet()
    while (this.#waiting.length > 0) {
      const asks = this.#waiting
      this.#waiting = []
      this.#rounds++
      for (const answer of await this.#answersTo(asks)) answer()
      await this.#quiet()
    }
    this.#isRunning = false
  }

  async #answersTo(asks: readonly Ask[]): Promise<readonly (() => void)[]> {
    if (this.#isTogether) return Promise.all(asks.map((ask) => ask()))
    const answers: (() => void)[] = []
    for (const ask of asks) answers.push(await ask())
    return answers
  }

  async #quiet(): Promise<void> {
    let asked = this.#asked
    for (let turns = 0; turns < QUIET_TURNS; turns++) {
      await new Promise<void>((resolve) => void setImmediate(resolve))
      if (asked === this.#asked) continue
      asked = this.#asked
      turns = 0
    }
  }
}

const CALLS: ReadonlyMap<string | symbol, string> = new Map([
  ['claim', 'claims'],
  ['renew', 'renewals'],
  ['mark', 'marks'],
  ['release', 'releases'],
  ['setAside', 'messages set aside'],
  ['deadLetter', 'dead letters'],
  ['retryLater', 'retry copies'],
])

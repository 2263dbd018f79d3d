const DIGITS = 32

/**
 * Which keys that a statement was about are in its answer, which has them in hex, one after the other, and no others. Mostly all
 * of them are: then none is looked for. Says nothing about other keys.
 */
export class AnsweredKeys {
  readonly size: number
  /** `undefined`: all. */
  readonly #some: ReadonlySet<string> | undefined

  /** `asked`: how many keys the statement was about. */
  constructor(answer: string | null | undefined, asked: number) {
    this.size = (answer ?? '').length / DIGITS
    if (this.size === asked) return
    const some = new Set<string>()
    for (let at = 0; at < this.size; at++) some.add((answer ?? '').slice(at * DIGITS, (at + 1) * DIGITS))
    this.#some = some
  }

  has(key: string): boolean {
    return this.#some === undefined || this.#some.has(key)
  }
}

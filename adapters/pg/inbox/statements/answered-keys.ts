const DIGITS = 32

/**
 * The keys of a statement that are in its answer, which has them in hex, joined, and no other keys. Usually the answer
 * has all of them, and then no key is searched. Must be asked only about keys of the statement.
 */
export class AnsweredKeys {
  readonly size: number
  /** `undefined`: all. */
  readonly #some: ReadonlySet<string> | undefined

  /** `asked`: the number of keys in the statement. */
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

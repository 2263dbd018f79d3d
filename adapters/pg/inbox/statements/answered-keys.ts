import type { StoredKey } from '../../../sql/bytes.ts'

/**
 * The keys of a statement that are in its answer, which has them in hex, joined, and no other keys. Usually the answer
 * has all of them, and then no key is searched. Must be asked only about keys of the statement.
 */
export class AnsweredKeys {
  readonly size: number
  /** `undefined`: all. */
  readonly #some: ReadonlySet<string> | undefined

  /** `asked`: those of the statement, which are all equally long. */
  constructor(answer: string | null | undefined, asked: readonly StoredKey[]) {
    const digits = asked[0]?.key.length ?? 1
    this.size = (answer ?? '').length / digits
    if (this.size === asked.length) return
    const some = new Set<string>()
    for (let at = 0; at < this.size; at++) some.add((answer ?? '').slice(at * digits, (at + 1) * digits))
    this.#some = some
  }

  has(key: string): boolean {
    return this.#some === undefined || this.#some.has(key)
  }
}

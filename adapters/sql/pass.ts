/**
 * A pass through a table in steps, in the order of its keys or pages. It begins anywhere and goes on from the first one
 * after the last: processes that live for one step must not all look at the same rows.
 */
export class Pass<Place extends string | number> {
  readonly #first: Place
  readonly #begin: Place
  #at: Place
  #isWrapped = false

  constructor(first: Place, begin: Place) {
    this.#first = first
    this.#begin = begin
    this.#at = begin
  }

  /** Where the next step begins. */
  get at(): Place {
    return this.#at
  }

  /** It goes on from the first one. */
  get isWrapped(): boolean {
    return this.#isWrapped
  }

  /** The step has looked as far as `next`; `undefined`: to the end of the table. False: the pass is over. */
  goOn(next: Place | undefined): boolean {
    if (next !== undefined) {
      this.#at = next
      return !this.#isWrapped || next < this.#begin
    }
    if (this.#isWrapped || this.#begin <= this.#first) return false
    this.#isWrapped = true
    this.#at = this.#first
    return true
  }
}

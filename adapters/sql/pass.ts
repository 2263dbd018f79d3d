/**
 * A place in a pass through a table in steps, in the order of its keys or pages. A pass begins anywhere and goes on from
 * the first one after the last: processes that live for one step must not all look at the same rows. Nothing moves it:
 * two steps that begin at the same place, because one did not wait for the other, go on from where each has looked.
 */
export class Pass<Place extends string | number> {
  /** Where the next step begins. */
  readonly at: Place
  /** It has gone on from the first one. */
  readonly isWrapped: boolean
  readonly #first: Place
  readonly #begin: Place

  constructor(first: Place, begin: Place, at: Place = begin, isWrapped: boolean = false) {
    this.at = at
    this.isWrapped = isWrapped
    this.#first = first
    this.#begin = begin
  }

  /** @param next - up to where the step has looked; `undefined`: to the end of the table. @returns `undefined`: the pass is over */
  after(next: Place | undefined): Pass<Place> | undefined {
    if (next === undefined)
      return this.isWrapped || this.#begin <= this.#first ? undefined : this.#to(this.#first, true)
    return this.isWrapped && next >= this.#begin ? undefined : this.#to(next, this.isWrapped)
  }

  #to(at: Place, isWrapped: boolean): Pass<Place> {
    return new Pass(this.#first, this.#begin, at, isWrapped)
  }
}

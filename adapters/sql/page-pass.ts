import { systemEntropy } from '../../src/internal.ts'

/**
 * A pass through the pages of a table, in steps. It begins at any page and goes on from the first one after the last:
 * processes that live for one step must not all look at the same pages.
 */
export class PagePass {
  readonly #perStep: number
  readonly #begin: number
  #from: number
  #isWrapped = false

  constructor(pages: number, perStep: number) {
    this.#perStep = perStep
    this.#begin = pages <= perStep ? 0 : Math.floor(systemEntropy.fraction() * pages)
    this.#from = this.#begin
  }

  get step(): { readonly from: number; readonly to: number } {
    return { from: this.#from, to: this.#from + this.#perStep }
  }

  /** The step was looked through. False: the pass is over. */
  goOn(pages: number): boolean {
    this.#from += this.#perStep
    if (this.#isWrapped) return this.#from < this.#begin
    if (this.#from < pages) return true
    this.#isWrapped = true
    this.#from = 0
    return this.#begin > 0
  }
}

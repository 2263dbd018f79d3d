import { systemEntropy } from '../../src/internal.ts'
import { Pass } from '../sql/pass.ts'

/** A pass through the pages of a table. */
export class PagePass {
  readonly #perStep: number
  #pass: Pass<number>

  constructor(pages: number, perStep: number) {
    this.#perStep = perStep
    this.#pass = new Pass(0, pages <= perStep ? 0 : Math.floor(systemEntropy.fraction() * pages))
  }

  get step(): { readonly from: number; readonly to: number } {
    return { from: this.#pass.at, to: this.#pass.at + this.#perStep }
  }

  /** The step was looked through. False: the pass is over. */
  goOn(pages: number): boolean {
    const { to } = this.step
    const next = this.#pass.after(to < pages ? to : undefined)
    if (next !== undefined) this.#pass = next
    return next !== undefined
  }
}

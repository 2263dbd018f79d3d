/** Runs tasks one after the other, in the order of the calls. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve()
  #taken = 0

  /** Runs `work` when all earlier tasks have ended, with any result; at once if there are none. */
  take<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#taken === 0 ? work() : this.#last.then(work)
    this.#taken++
    const end = (): void => void this.#taken--
    this.#last = turn.then(end, end)
    return turn
  }
}

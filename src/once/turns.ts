/** A place in a line. */
export interface Turn {
  /** Resolves when the one before is done. */
  readonly come: Promise<unknown>
  done(): void
}

/**
 * Runs of a process that were in conflict with others run again one after the other: together they would meet again,
 * and a database takes its time to find a deadlock (Postgres a second for each).
 */
export class Turns {
  #last: Promise<unknown> = Promise.resolve()

  take(): Turn {
    const come = this.#last
    let done: (() => void) | undefined
    const ended = new Promise<void>((resolve) => {
      done = resolve
    })
    this.#last = Promise.all([come, ended])
    return { come, done: () => done?.() }
  }
}

import { StoppedError } from '../foundation/errors.ts'

/**
 * Work that takes long. Await `result`; iterate over the job to follow it: each step of the iteration gives the newest progress, and waits
 * if it has not changed.
 */
export interface Job<Progress, Result> extends AsyncIterable<Progress> {
  readonly result: Promise<Result>
  /** Ends it as soon as what it has begun is finished. `result` then rejects with `STOPPED`, or tells how far it came. */
  stop(): void
}

export interface JobControl<Progress> {
  readonly signal: AbortSignal
  tell(progress: Progress): void
}

/** Starts work and returns its job. Nobody needs to iterate. */
export function startJob<Progress, Result>(
  what: string,
  work: (control: JobControl<Progress>) => Promise<Result>,
): Job<Progress, Result> {
  const abort = new AbortController()
  const latest = new Latest<Progress>()
  const result = work({ signal: abort.signal, tell: (progress) => latest.set(progress) })
  // Callers may only iterate, or await the result later.
  result.then(
    () => latest.end(),
    () => latest.end(),
  )
  return {
    result,
    stop: () => abort.abort(new StoppedError(`${what} was stopped`)),
    [Symbol.asyncIterator]: () => latest.follow(),
  }
}

/** A value that changes, and those who wait for its next change. */
class Latest<T> {
  #latest: { readonly version: number; readonly value: T } | undefined
  #isOver = false
  readonly #waiting = new Set<() => void>()

  set(value: T): void {
    this.#latest = { version: (this.#latest?.version ?? 0) + 1, value }
    this.#wake()
  }

  end(): void {
    this.#isOver = true
    this.#wake()
  }

  async *follow(): AsyncIterator<T> {
    for (let seen = 0; ;) {
      const latest = this.#latest
      if (latest !== undefined && latest.version > seen) {
        seen = latest.version
        yield latest.value
      } else if (this.#isOver) {
        return
      } else {
        await new Promise<void>((resolve) => void this.#waiting.add(resolve))
      }
    }
  }

  #wake(): void {
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }
}

import { COPY_HEADER, copyText, type DurationMs, type EpochMs, type Message } from '../../../src/internal.ts'

/** Copies that are due within this part of the delay count as one. */
const SPAN_OF_DELAY = 1 / 1000
const LEAST_SPAN_MS = 1_000
/** Above it nothing is added: the oldest copy is known. */
const MOST_SPANS = 5_000

/**
 * Copies that this process has delayed and that no consumer can have got since. A delay queue is first in, first out: a
 * copy that arrives proves that all copies due before it have left, whichever process delayed them. If the queue has
 * other consumers too, a copy that is due may have gone to them, and is no longer tracked.
 */
export class DelayedCopies {
  readonly #queues: ReadonlyMap<string, DelayLine>

  constructor(queues: readonly { readonly queue: string; readonly delayMs: DurationMs }[]) {
    this.#queues = new Map(queues.map(({ queue, delayMs }) => [queue, new DelayLine(delayMs)]))
  }

  get isUsed(): boolean {
    return this.#queues.size > 0
  }

  delayed(queue: string, dueAt: EpochMs): void {
    this.#queues.get(queue)?.add(dueAt)
  }

  arrived({ headers }: Message): void {
    const dueAt = headers[COPY_HEADER.notBefore]
    if (typeof dueAt === 'number') this.#queues.get(copyText(headers, COPY_HEADER.delayQueue) ?? '')?.passed(dueAt)
  }

  /** The queue has other consumers: copies due by now may be theirs. */
  sharedAt(now: EpochMs): void {
    for (const line of this.#queues.values()) line.passed(now)
  }

  /** For each queue, how long the oldest missing copy is overdue; 0 if none is. */
  overdueMs(now: EpochMs): ReadonlyMap<string, DurationMs> {
    return new Map([...this.#queues].map(([queue, line]) => [queue, Math.max(0, now - (line.oldest ?? now))]))
  }
}

/** Copies that wait in one delay queue, by their due time. */
class DelayLine {
  readonly #spanMs: DurationMs
  #spans: { readonly from: EpochMs; to: EpochMs }[] = []
  #passed: EpochMs = 0

  constructor(delayMs: DurationMs) {
    this.#spanMs = Math.max(LEAST_SPAN_MS, delayMs * SPAN_OF_DELAY)
  }

  get oldest(): EpochMs | undefined {
    return this.#spans[0]?.from
  }

  /** Called at the confirm: a short delay may be over by then. */
  add(dueAt: EpochMs): void {
    if (dueAt <= this.#passed) return
    const last = this.#spans.at(-1)
    if (last !== undefined && dueAt - last.from < this.#spanMs) last.to = Math.max(last.to, dueAt)
    else if (this.#spans.length < MOST_SPANS) this.#spans.push({ from: dueAt, to: dueAt })
  }

  passed(dueAt: EpochMs): void {
    this.#passed = Math.max(this.#passed, dueAt)
    const kept = this.#spans.findIndex(({ to }) => to > dueAt)
    this.#spans = kept === -1 ? [] : this.#spans.slice(kept)
  }
}

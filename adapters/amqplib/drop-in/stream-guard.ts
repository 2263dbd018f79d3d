import type { AmqpMessage } from '../amqplib-like.ts'
import { STREAMS_REFUSED } from '../topology/judgement.ts'

/**
 * What is known about the queue.
 *
 *   unsuspected ──> asking ──> no-stream
 *                      │└───> undecided ──> no-stream
 *                      └────> stream
 */
type Known = { readonly kind: 'unsuspected' } | { readonly kind: 'no-stream' } | { readonly kind: 'stream' } | Held

interface Held {
  readonly kind: 'asking' | 'undecided'
  readonly held: AmqpMessage[]
}

interface GuardParts {
  /** True for a stream; `undefined`: it cannot be found out. Rejects if nobody answers. */
  readonly ask: () => Promise<boolean | undefined>
  /** Takes what was held, in its order, because the queue is no stream. */
  readonly release: (messages: readonly AmqpMessage[]) => void
  readonly report: (detail: string) => void
}

/**
 * Refuses the deliveries of a stream: they are neither handled nor settled. A stream gives each delivery the header
 * `x-stream-offset`. A message that was copied from a stream into a queue may have the header too, so the broker is
 * asked, once.
 */
export class StreamGuard {
  readonly #parts: GuardParts
  #known: Known = { kind: 'unsuspected' }

  constructor(parts: GuardParts) {
    this.#parts = parts
  }

  /** For people; `undefined`: deliveries are taken. */
  get problem(): string | undefined {
    switch (this.#known.kind) {
      case 'stream':
        return `it consumes a stream. ${STREAMS_REFUSED}`
      case 'undecided':
        return 'its deliveries look like those of a stream, and the broker does not say whether it is one: give onMessage() the option queue, and allow `read` on it to this user'
      case 'unsuspected':
      case 'no-stream':
      case 'asking':
        return undefined
    }
  }

  /** True if the delivery must not be taken now. */
  holds(raw: AmqpMessage): boolean {
    const known = this.#known
    if (known.kind === 'no-stream') return false
    if (known.kind === 'stream') return true
    const isSuspect = raw.properties.headers?.['x-stream-offset'] !== undefined && !raw.fields.redelivered // mutant: rabbit-drop-in-takes-a-stream
    if (known.kind === 'unsuspected') {
      if (isSuspect) void this.#ask({ kind: 'asking', held: [raw] })
      return isSuspect
    }
    // No delivery of a stream lacks the header, and none is redelivered.
    if (!isSuspect) this.#isNone(known.held)
    else known.held.push(raw)
    return isSuspect
  }

  /** The next delivery may be of another queue with the same name. */
  reset(): void {
    this.#known = { kind: 'unsuspected' }
  }

  async #ask(asking: Held): Promise<void> {
    this.#known = asking
    const isStream = await this.#parts.ask().catch(() => undefined)
    if (this.#known !== asking) return
    if (isStream === false) return this.#isNone(asking.held)
    this.#known = isStream === true ? { kind: 'stream' } : { kind: 'undecided', held: asking.held }
    this.#parts.report(this.problem ?? '')
  }

  #isNone(held: readonly AmqpMessage[]): void {
    this.#known = { kind: 'no-stream' }
    this.#parts.release(held)
  }
}

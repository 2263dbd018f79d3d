import { BrokerError, describeError, systemClock, type MonotonicMs } from '../../../src/internal.ts'

const LOOK_AGAIN_AFTER_MS = 5 * 60_000

/**
 * The largest message that the broker accepts, once it has said so. A larger one closes the publishing channel, and all
 * unconfirmed messages fail, so it is not sent again and again. The limit is forgotten after a while, because it may
 * have been raised.
 */
export class SizeLimit {
  #most = Number.POSITIVE_INFINITY
  #learnedAt: MonotonicMs = 0

  /** @throws BrokerError `BROKER_PUBLISH_REFUSED` */
  check(body: Uint8Array): void {
    if (body.byteLength <= this.#most) return
    if (systemClock.monotonic() - this.#learnedAt > LOOK_AGAIN_AFTER_MS) {
      this.#most = Number.POSITIVE_INFINITY
      return
    }
    throw new BrokerError(
      'BROKER_PUBLISH_REFUSED',
      `a copy of ${body.byteLength} bytes was not published: the broker takes ${this.#most} at most. Raise its max_message_size, or take the original from the queue; it stays unacked`,
    )
  }

  learnFrom(error: unknown): void {
    const most = /larger than configured max size (\d+)/.exec(describeError(error))?.[1]
    if (most === undefined) return
    this.#most = Number(most)
    this.#learnedAt = systemClock.monotonic()
  }
}

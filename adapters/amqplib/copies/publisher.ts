import {
  stageAfter,
  stageFor,
  systemClock,
  type DeadLetter,
  type DurationMs,
  type MessageCopy,
  type Publisher,
  type RetryCopy,
} from '../../../src/internal.ts'
import { RabbitMessage } from '../message/message.ts'
import type { RabbitSettings } from '../options/resolve.ts'
import type { RabbitEvents } from '../report.ts'
import type { OwnFrame } from '../settling/acks.ts'
import type { ConfirmedCopies } from './confirmed-copies.ts'
import type { DelayedCopies } from './delayed.ts'
import { deadLetterHeaders, originRoutingKey, retryHeaders } from './copy-headers.ts'

interface PublisherParts {
  readonly copies: ConfirmedCopies
  readonly settings: RabbitSettings
  readonly delayed: DelayedCopies
  readonly events: RabbitEvents
}

/** How long a message waits in its lane for another process, unless `whenBusy` of the consumer says so. */
const BUSY_WAIT_MS: DurationMs = 2_000

/**
 * Moves messages to their dead-letter or retry place: as a confirmed copy with unchanged body, properties and message
 * ID, or with the frame that settles the original. After a rejection the caller tries again, for ever.
 */
export class RabbitPublisher implements Publisher {
  readonly busyWaitMs: DurationMs | undefined
  readonly #parts: PublisherParts

  constructor(parts: PublisherParts) {
    this.#parts = parts
    const { retry } = parts.settings
    this.busyWaitMs = retry.kind === 'lane' ? undefined : BUSY_WAIT_MS
  }

  async deadLetter(deadLetter: DeadLetter): Promise<void> {
    const { settings, events, copies } = this.#parts
    const { deadLetter: way } = settings
    if (way.kind === 'reject') note(deadLetter, 'dead-letter')
    else {
      const place =
        way.kind === 'queue'
          ? { routingKey: way.queue, queue: way.queue }
          : { exchange: way.exchange, routingKey: way.routingKey ?? originRoutingKey(deadLetter) }
      await copies.publish(deadLetter, place, deadLetterHeaders(deadLetter, systemClock.now()))
    }
    events.count('dead-lettered')
  }

  /** The delay after this number of attempts. */
  retryDelayMs(attempts: number): DurationMs | undefined {
    const { retry } = this.#parts.settings
    switch (retry.kind) {
      case 'lane':
        return undefined
      case 'delay-queues':
        return stageAfter(retry.queues, attempts)?.delayMs
      case 'delayed-by-queue':
        return Math.min(retry.minMs * attempts, retry.maxMs)
    }
  }

  async retryLater(copy: RetryCopy): Promise<void> {
    const { settings, events, delayed, copies } = this.#parts
    const { retry } = settings
    if (retry.kind === 'lane') throw new TypeError('no retry place is configured (retryLater)')
    if (retry.kind === 'delayed-by-queue') note(copy, copy.why === 'busy' ? 'return' : 'retry') // mutant: rabbit-requeue-without-delay
    else {
      const place = stageFor(retry.queues, copy)
      const at = systemClock.now()
      await copies.publish(copy, { routingKey: place.queue, queue: place.queue }, retryHeaders(copy, place, at)) // mutant: rabbit-settled-before-the-copy
      delayed.delayed(place.queue, at + place.delayMs)
    }
    events.count('delayed')
  }
}

/** The broker moves the message when the delivery is settled. */
function note({ message }: MessageCopy, frame: OwnFrame): void {
  if (!RabbitMessage.settleBy(message, frame)) throw new TypeError('not a message of this source (note)')
}

import { backoffMs } from '../../core/backoff.ts'
import type { Key, Reason } from '../../core/record.ts'
import type { DurationMs, EpochMs } from '../../core/units.ts'
import { errorClass } from '../../foundation/errors.ts'
import { RETRY_TIMES } from '../../consumer/retry-times.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Entropy } from '../../ports/entropy.ts'
import type { Message } from '../../ports/message.ts'
import type { DeadLetter, MessageCopy, Publisher, RetryCopy } from '../../ports/source.ts'
import { Evidence } from '../evidence.ts'
import type { Tell } from '../telemetry/observe.ts'
import { Pauses } from '../../execution/pauses.ts'
import { toldOfCause } from '../telemetry/cause.ts'
import { redactedError } from '../telemetry/redact.ts'
import type { Ending, FoundAside } from '../ending.ts'
import type { Task } from '../task.ts'

interface CopiesParts {
  readonly consumer: string
  readonly group: string
  readonly publisher: Publisher
  /** The option `whenBusy`; `undefined`: as the publisher says. */
  readonly busyWaitMs: DurationMs | undefined
  readonly clock: Clock
  readonly entropy: Entropy
  readonly observe: Tell
}

export interface DeadLettering {
  readonly reason: Reason
  readonly parked: boolean
  /** Redacted. */
  readonly detail: string
  /** The thrown value. Its text may repeat the message. */
  readonly error?: unknown
  readonly attempts?: number
  /** Instead of `error`, for a failure of an earlier delivery. */
  readonly errorClass?: string | undefined
  /** When its record was set aside; `undefined` if it was not, or if the time is unknown. */
  readonly setAsideAt?: EpochMs | undefined
  /** The record of an earlier delivery says so. */
  readonly isRepeated?: true | undefined
  readonly firstFailureAt?: EpochMs | undefined
}

export interface Confirmed {
  readonly evidence: Evidence
  readonly copy: DeadLetter | RetryCopy
}

type Why = Pick<DeadLettering, 'detail' | 'error' | 'errorClass' | 'attempts' | 'firstFailureAt'>

/**
 * Publishes copies that replace their originals, and retries until the broker confirms them. If a place confirms
 * nothing, its messages wait, and an event reports it; none is lost.
 */
export class Copies {
  readonly #parts: CopiesParts
  readonly #pauses: Pauses

  constructor(parts: CopiesParts) {
    this.#parts = parts
    this.#pauses = new Pauses(parts.clock)
  }

  /** How long a message with this many failed attempts waits in a retry place; `undefined`: it waits in its lane. */
  retryDelayMs(attempts: number): DurationMs | undefined {
    const { publisher } = this.#parts
    return publisher.retryLater === undefined ? undefined : publisher.retryDelayMs?.(attempts)
  }

  /** How long a message that another owner is busy with waits in its lane before it goes to a retry place. */
  get busyWaitMs(): DurationMs {
    const { publisher, busyWaitMs } = this.#parts
    return (publisher.retryLater && (busyWaitMs ?? publisher.busyWaitMs)) ?? Number.POSITIVE_INFINITY
  }

  /** A message that waits for so long waits in a retry place, not in its lane. */
  waitsElsewhere(forMs: DurationMs): boolean {
    const { publisher } = this.#parts
    return publisher.retryLater !== undefined && forMs > (publisher.laneWaitMs ?? this.busyWaitMs)
  }

  /**
   * Resolves with `undefined` if `end()` came before the confirm. `key` is the key of the task, if the message is one.
   */
  deadLetter(message: Message, why: DeadLettering, key: Key | undefined): Promise<Confirmed | undefined> {
    const { reason, parked, setAsideAt, isRepeated } = why
    const copy = { ...this.#copyOf(message, key, why), reason, parked, setAsideAt, isRepeated }
    return this.#untilConfirmed('dead-letter', copy, (publisher) => publisher.deadLetter(copy))
  }

  /** Resolves with `undefined` if `end()` came before the confirm. */
  retryLater(task: Task, how: Extract<Ending, { end: 'retry' }>): Promise<Confirmed | undefined> {
    const { why, attempts, delayMs, error } = how
    const { message, firstFailureAt, key } = task
    const detail = error === undefined ? '' : redactedError(error, message)
    const copy = { ...this.#copyOf(message, key, { attempts, error, detail, firstFailureAt }), why, delayMs }
    return this.#untilConfirmed('retry', copy, async (publisher) => publisher.retryLater?.(copy))
  }

  /** Nothing is published again after this. */
  end(): void {
    this.#pauses.end()
  }

  #copyOf(
    message: Message,
    key: Key | undefined,
    { detail, error, errorClass: known, attempts = 0, firstFailureAt }: Why,
  ): MessageCopy {
    const { consumer, group } = this.#parts
    return {
      message,
      key,
      detail,
      errorClass: error === undefined ? known : errorClass(error),
      attempts,
      firstFailureAt,
      consumer,
      group,
    }
  }

  async #untilConfirmed(
    place: 'dead-letter' | 'retry',
    copy: DeadLetter | RetryCopy,
    publish: (publisher: Publisher) => Promise<void>,
  ): Promise<Confirmed | undefined> {
    const { publisher, entropy, observe } = this.#parts
    const { message, key } = copy
    for (let failures = 1; !this.#pauses.areOver; failures++) {
      try {
        const evidence = await Evidence.ofCopy(publish(publisher)) // mutant: settle-before-copy
        return { evidence, copy }
      } catch (error) {
        const retryInMs = backoffMs(failures, RETRY_TIMES.publishRetry, entropy.fraction())
        observe({ type: 'publish-failed', place, key, message, error, retryInMs })
        await this.#pauses.pause(retryInMs)
      }
    }
    return undefined
  }
}

/** The dead letter of a record that a claim found: it tells the story of the record. */
export function toldOfFound(task: Task, { parked, reason, detail, story }: FoundAside): DeadLettering {
  if (story === undefined) return { parked, reason, detail }
  const { attempt: attempts = 0, since, cause } = story
  task.firstFailureAt ??= since
  // The text of a record was redacted before it was written.
  const told = cause === undefined ? { detail } : toldOfCause(cause)
  return { parked, reason, ...told, attempts, setAsideAt: since, isRepeated: true }
}

import { backoffMs } from '../../core/backoff.ts'
import { durationText } from '../../core/duration-text.ts'
import type { DurationMs, MonotonicMs } from '../../core/units.ts'
import { describeIssues } from '../../consumer/decode.ts'
import type { ResolvedConsumer } from '../../consumer/resolve-options.ts'
import { LeaseLostError, StoppedError, describeError } from '../../foundation/errors.ts'
import { isOutage } from '../../foundation/outage.ts'
import { isThenable } from '../../foundation/thenable.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Entropy } from '../../ports/entropy.ts'
import type { Message } from '../../ports/message.ts'
import type { Unidentified } from '../intake/identify.ts'
import { redacted, redactedDetail } from '../telemetry/redact.ts'
import type { Tell } from '../telemetry/observe.ts'

/** What came of one payload. */
export type Decoded =
  | { readonly is: 'decoded'; readonly payload: unknown }
  /** It never will be: its bytes are at fault. */
  | { readonly is: 'refused'; readonly why: Unidentified }
  /** Not now: what the function asks does not answer, such as a schema registry. No attempt counts. */
  | { readonly is: 'unanswered'; readonly error: unknown }

/** A message, or the delivery that is not one yet, with how often in a row it could not be decoded. */
interface Waiting {
  readonly message: Message
  readonly failures: number
  readonly error: unknown
}

interface Late {
  readonly dueAt: MonotonicMs
  readonly end: (answer: Decoded) => void
}

interface DecodingServices {
  readonly consumer: ResolvedConsumer
  readonly clock: Clock
  readonly entropy: Entropy
  readonly observe: Tell
}

/**
 * Calls the user's `decode` and `schema`, which may answer later, and knows which messages wait because they cannot. What
 * answers at once costs no promise. One timer bounds all that answer later, by the time of a handler.
 */
export class Decoding {
  readonly #services: DecodingServices
  readonly #waiting = new Map<object, Waiting>()
  /** In the order in which their time is over: the limit is one for all. */
  readonly #late = new Set<Late>()
  #cancelTimer: (() => void) | undefined
  #isOver = false

  constructor(services: DecodingServices) {
    this.#services = services
  }

  /** Some messages cannot be decoded now. */
  get isDown(): boolean {
    return this.#waiting.size > 0
  }

  /** The text of `health().checks.decode`; `undefined`: nothing waits. */
  get check(): string | undefined {
    const [first] = this.#waiting.values()
    if (first === undefined) return undefined
    const { error, message } = first
    const why = redactedDetail({ detail: describeError(error), error }, message)
    const { size } = this.#waiting
    return `${size} ${size === 1 ? 'message waits' : 'messages wait'} for what decodes payloads: ${why}`
  }

  /** The payload, checked by the schema. Never throws, never rejects. */
  decode(message: Message): Decoded | Promise<Decoded> {
    try {
      const payload = this.#services.consumer.decode(message.value, message)
      if (isThenable(payload)) return this.#checkedLater(this.awaited(payload), message)
      return this.#checked(payload, message)
    } catch (error) {
      return undecodable(error)
    }
  }

  /** What an ID extractor needs before it can go on. Never rejects. */
  awaited(payload: PromiseLike<unknown>): Promise<Decoded> {
    return this.#later(payload, decoded, undecodable)
  }

  /** How long this message waits before it is decoded again. */
  failed(of: object, message: Message, error: unknown): DurationMs {
    const { consumer, entropy, observe } = this.#services
    const failures = (this.#waiting.get(of)?.failures ?? 0) + 1
    const isFirst = this.#waiting.size === 0
    this.#waiting.set(of, { message, failures, error })
    if (isFirst && !this.#isOver) observe({ type: 'decode-down', message, error })
    return backoffMs(failures, consumer.backoff, entropy.fraction())
  }

  /** It is decoded, or no longer here. */
  done(of: object): void {
    if (this.#waiting.size === 0 || !this.#waiting.delete(of)) return
    if (this.#waiting.size === 0 && !this.#isOver) this.#services.observe({ type: 'decode-up' })
  }

  /** A stop: nothing begins any more, so nobody waits for what answers later. */
  stop(): void {
    this.#isOver = true
    const stopped: Decoded = { is: 'unanswered', error: new StoppedError('stopped before its payload was decoded') }
    for (const late of this.#late) late.end(stopped)
  }

  async #checkedLater(raw: Promise<Decoded>, message: Message): Promise<Decoded> {
    const answer = await raw
    return answer.is === 'decoded' ? this.#checked(answer.payload, message) : answer
  }

  #checked(payload: unknown, message: Message): Decoded | Promise<Decoded> {
    const { schema } = this.#services.consumer
    if (schema === undefined) return { is: 'decoded', payload }
    const read = (result: Validated): Decoded =>
      result.issues === undefined
        ? { is: 'decoded', payload: result.value }
        : { is: 'refused', why: { reason: 'schema', detail: redacted(describeIssues(result.issues), message) } }
    try {
      const result = schema['~standard'].validate(payload)
      return isThenable(result) ? this.#later(result, read, schemaThrew) : read(result)
    } catch (error) {
      return schemaThrew(error)
    }
  }

  /** One promise, which is settled by the answer, by the end of its time, or by a stop. */
  #later<T>(
    answer: PromiseLike<T>,
    read: (value: T) => Decoded,
    failed: (error: unknown) => Decoded,
  ): Promise<Decoded> {
    const { clock, consumer } = this.#services
    return new Promise((resolve) => {
      const late: Late = {
        dueAt: clock.monotonic() + consumer.handlerTimeoutMs,
        end: (how) => {
          if (this.#late.delete(late) && this.#late.size === 0) this.#disarm()
          resolve(how)
        },
      }
      this.#late.add(late)
      this.#arm()
      // Adopted: a thenable may throw when it is asked.
      Promise.resolve(answer).then(
        (value) => late.end(readOr(failed, () => read(value))),
        (error: unknown) => late.end(failed(error)),
      )
      if (this.#isOver) this.stop()
    })
  }

  #arm(): void {
    const [first] = this.#late
    if (first === undefined || this.#cancelTimer !== undefined) return
    const { clock } = this.#services
    this.#cancelTimer = clock.after(Math.max(1, Math.ceil(first.dueAt - clock.monotonic())), () => {
      this.#cancelTimer = undefined
      this.#endOverdue()
      this.#arm()
    })
  }

  #endOverdue(): void {
    const { clock, consumer } = this.#services
    const now = clock.monotonic()
    for (const late of this.#late) {
      if (late.dueAt > now) return
      const text = `its payload was not decoded within ${durationText(consumer.handlerTimeoutMs)}: decode or schema did not answer`
      late.end({ is: 'unanswered', error: new LeaseLostError('HANDLER_TIMEOUT', text) })
    }
  }

  #disarm(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }
}

type Validated = Awaited<ReturnType<NonNullable<ResolvedConsumer['schema']>['~standard']['validate']>>

function readOr(failed: (error: unknown) => Decoded, read: () => Decoded): Decoded {
  try {
    return read()
  } catch (error) {
    return failed(error)
  }
}

function decoded(payload: unknown): Decoded {
  return { is: 'decoded', payload }
}

function undecodable(error: unknown): Decoded {
  return refused('undecodable', error)
}

function schemaThrew(error: unknown): Decoded {
  return refused('schema', error)
}

function refused(reason: 'undecodable' | 'schema', error: unknown): Decoded {
  if (isOutage(error)) return { is: 'unanswered', error }
  return { is: 'refused', why: { reason, detail: describeError(error), error } }
}

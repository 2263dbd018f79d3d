import { backoffMs } from '../../core/backoff.ts'
import { countedText } from '../../core/counted-text.ts'
import type { DurationMs } from '../../core/units.ts'
import { describeIssues } from '../../consumer/decode.ts'
import type { ResolvedConsumer } from '../../consumer/resolve-options.ts'
import { StoppedError, describeError } from '../../foundation/errors.ts'
import { Held, WITHOUT_LEASE, type Deadlines } from '../../execution/deadlines.ts'
import { TimedRun } from '../../execution/timed-run.ts'
import { isOutage } from '../../foundation/outage.ts'
import { isThenable } from '../../foundation/thenable.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Entropy } from '../../ports/entropy.ts'
import type { Message } from '../../ports/message.ts'
import type { Unidentified } from '../intake/identify.ts'
import { redacted, redactedDetail } from '../telemetry/redact.ts'
import type { Tell } from '../telemetry/observe.ts'
import type { RunItem } from './handler-run.ts'

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

/** A decoder or a schema that answers later. */
class DecoderRun extends TimedRun {
  override tooLong(limit: string): string {
    return `its payload was not decoded within ${limit}: decode or schema did not answer`
  }
}

interface DecodingServices {
  readonly consumer: ResolvedConsumer
  readonly clock: Clock
  readonly entropy: Entropy
  readonly observe: Tell
  readonly deadlines: Deadlines<RunItem>
}

/**
 * Calls the user's `decode` and `schema`, which may answer later, and knows which messages wait because they cannot. What
 * answers at once costs no promise. What answers later has the time of a handler.
 */
export class Decoding {
  readonly #services: DecodingServices
  readonly #waiting = new Map<object, Waiting>()
  readonly #late = new Set<DecoderRun>()
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
    return `${countedText(size, 'message waits', 'messages wait')} for what decodes payloads: ${why}`
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
    const stopped = new StoppedError('stopped before its payload was decoded')
    for (const run of this.#late) run.abort(stopped)
  }

  async #checkedLater(raw: Promise<Decoded>, message: Message): Promise<Decoded> {
    const answer = await raw
    return answer.is === 'decoded' ? this.#checked(answer.payload, message) : answer
  }

  #checked(payload: unknown, message: Message): Decoded | Promise<Decoded> {
    const { payloadSchema: schema } = this.#services.consumer
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
    const { clock, deadlines } = this.#services
    return new Promise((resolve) => {
      const run = new DecoderRun()
      const held = new Held<RunItem>(NONE, WITHOUT_LEASE)
      const end = (how: Decoded): void => {
        if (!run.end()) return
        this.#late.delete(run)
        deadlines.release(held)
        resolve(how)
      }
      run.onAbort = () => end({ is: 'unanswered', error: run.abortedBy })
      this.#late.add(run)
      deadlines.keep(held, run.begin(clock.monotonic()))
      // Adopted: a thenable may throw when it is asked.
      Promise.resolve(answer).then(
        (value) => end(readOr(failed, () => read(value))),
        (error: unknown) => end(failed(error)),
      )
      if (this.#isOver) this.stop()
    })
  }
}

const NONE: readonly RunItem[] = []

type Validated = Awaited<ReturnType<NonNullable<ResolvedConsumer['payloadSchema']>['~standard']['validate']>>

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

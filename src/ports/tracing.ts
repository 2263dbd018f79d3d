import type { HandlerResult } from '../core/after-run.ts'
import type { Key, Reason } from '../core/record.ts'
import type { EpochMs } from '../core/units.ts'
import type { Message } from './message.ts'
import type { Outcome } from './outcome.ts'
import type { Claim, Strategy } from './store.ts'

/**
 * Makes spans for messages, as `otelTracing()` does. One run of the handler is one span, from its claim to the end of
 * its message. A delivery that ends without a run, such as a duplicate, is a span of its own. No method may block; what
 * a method throws is ignored.
 */
export interface Tracing {
  /**
   * Runs work of the library, which belongs to no message, outside of every trace. `quiet`: also without the spans that
   * an instrumentation of the client would make for each message it fetches, because `begin` makes them.
   */
  outside<T>(work: () => T, how?: { readonly quiet: true }): T
  /** Called in the context of a delivery: returns what `begin` and `ended` need of it. */
  ambient(): unknown
  /** A run of the handler begins. */
  begin(run: TracedStart): RunTrace
  /** A delivery ends without a run of the handler. `undefined`: it is not sampled. */
  ending(end: TracedDelivery): DeliveryTrace | undefined
}

/** The trace of a delivery that ends. An instrumentation may end its span with the settle, so it is told before. */
export interface DeliveryTrace {
  /** The W3C `traceparent` of its span, if it is sampled. */
  readonly traceparent: string | undefined
  /** It has ended. `isRefused`: it was to be settled, and its outcome is `settle-refused`. */
  ended(at: EpochMs, isRefused: boolean): void
}

/** The consumer of a span. */
export interface TracedConsumer {
  readonly name: string
  readonly group: string
  /** Its scope in the store. */
  readonly scope: string
  readonly strategy: Strategy
}

export interface TracedStart {
  readonly consumer: TracedConsumer
  /** The messages of the run; several only with `handleBatch`. */
  readonly items: readonly [TracedItem, ...TracedItem[]]
  /** When their claim was sent. It reads a clock, so only a span that is recorded asks. */
  readonly at: () => EpochMs
}

/** A claimed message. */
export interface TracedItem {
  readonly task: { readonly message: Message; readonly key: Key; readonly ambient: unknown }
  readonly claim: Pick<Claim, 'attempt' | 'fence'>
  /** An earlier attempt left it in doubt. */
  readonly doubt: boolean
}

/** The trace of one run of the handler. */
export interface RunTrace extends DeliveryTrace {
  /** False: not sampled. Then only `run` has to do something. */
  readonly isRecorded: boolean
  /** Runs the handler in the context of its span. */
  run<T>(handler: () => T): T
  /** The handler has ended. */
  handled(how: TracedResult): void
  /** One of its messages ends, or will run again. `ended` follows. The run is over when all have ended. */
  ending(end: TracedEnd): void
}

export interface TracedResult {
  readonly result: HandlerResult
  readonly error: TracedError | undefined
}

/** A thrown value, without parts that repeat its message. */
export interface TracedError {
  readonly type: string
  readonly message: string
}

export interface TracedEnd {
  /** `undefined`: it runs again in this process. */
  readonly outcome: Outcome | undefined
  readonly reason?: Reason | undefined
  /** Reads a clock, as `TracedStart.at` does. */
  readonly steps: () => TracedSteps
}

/** A part of the way of a message, shared with other messages of its batch. */
export interface TracedStep {
  readonly from: EpochMs
  readonly to: EpochMs
}

export interface TracedSteps {
  readonly claim?: TracedStep | undefined
  readonly mark?: TracedStep | undefined
  /** From the decision how the message ends to its settle. Takes time only if a copy had to be confirmed. */
  readonly settle?: TracedStep | undefined
}

export interface TracedDelivery {
  readonly consumer: TracedConsumer
  readonly message: Message
  readonly key: Key | undefined
  readonly ambient: unknown
  readonly outcome: Outcome
  readonly reason: Reason | undefined
  /** Reads a clock, as `TracedStart.at` does. */
  readonly steps: () => TracedSteps
  /** When its claim was sent, or now. Reads a clock. */
  readonly from: () => EpochMs
  /** The `traceparent` of the run that had the effect, or of the run that the delivery had joined. */
  readonly runTrace: string | undefined
}

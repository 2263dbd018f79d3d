import {
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  context,
  trace,
  type Context,
  type Span,
  type SpanContext,
  type Tracer,
} from '@opentelemetry/api'
import type {
  DeliveryTrace,
  RunTrace,
  TracedEnd,
  TracedError,
  TracedResult,
  TracedStep,
  TracedSteps,
} from '../../src/internal.ts'

type Outcome = NonNullable<TracedEnd['outcome']>

interface Recorded {
  readonly span: Span
  /** False: an instrumentation made it, and ends it. */
  readonly isOwn: boolean
  readonly base: Context
  /** Messages of the run. */
  readonly count: number
}

export class RecordedRun implements RunTrace {
  readonly isRecorded = true
  readonly traceparent: string | undefined
  readonly #tracer: Tracer
  readonly #span: Span
  readonly #isOwn: boolean
  readonly #context: Context
  /** Messages that have not ended. */
  #left: number
  /** How the messages ended so far; a batch whose messages ended differently has no outcome. */
  readonly #outcomes = new Set<Outcome | undefined>()
  #error: TracedError | undefined

  constructor(tracer: Tracer, { span, isOwn, base, count }: Recorded) {
    this.#tracer = tracer
    this.#span = span
    this.#isOwn = isOwn
    this.#context = trace.setSpan(base, span)
    this.#left = count
    this.traceparent = isSampled(span) ? traceparentOf(span.spanContext()) : undefined
  }

  run<T>(handler: () => T): T {
    return context.with(this.#context, handler)
  }

  handled({ result, error }: TracedResult): void {
    // A failure that is remembered as the answer is no error.
    if (result !== 'remembered') this.#error = error
  }

  ending({ outcome, reason, steps }: TracedEnd): void {
    const span = this.#span
    this.#outcomes.add(outcome)
    if (reason !== undefined) span.setAttribute('consume_once.reason', reason)
    this.#tellError(outcome, reason)
    if (this.#left > 1) return
    const [only, ...others] = this.#outcomes
    if (others.length === 0) span.setAttribute('consume_once.outcome', only ?? 'rerun')
    addSteps(this.#tracer, span, steps(), outcome)
  }

  ended(at: number, isRefused: boolean): void {
    if (isRefused) setRefused(this.#span)
    this.#left--
    if (this.#left === 0 && this.#isOwn) this.#span.end(at)
  }

  /** The span of an instrumentation lasts over all attempts: only the last says how the message ended. */
  #tellError(outcome: Outcome | undefined, reason: string | undefined): void {
    const error = this.#error
    if (error !== undefined && outcome === undefined && !this.#isOwn) {
      const { type, message } = error
      this.#span.addEvent('consume_once.attempt-failed', { 'error.type': type, 'error.message': message })
    } else if (error !== undefined) setError(this.#span, error)
    else if (outcome !== undefined && isError(outcome)) setError(this.#span, { type: reason ?? outcome, message: '' })
  }
}

/** The trace of a delivery that had no run. */
export class RecordedDelivery implements DeliveryTrace {
  readonly traceparent: string | undefined
  readonly #span: Span
  readonly #isOwn: boolean

  constructor(span: Span, isOwn: boolean) {
    this.traceparent = isSampled(span) ? traceparentOf(span.spanContext()) : undefined
    this.#span = span
    this.#isOwn = isOwn
  }

  ended(at: number, isRefused: boolean): void {
    if (isRefused) setRefused(this.#span)
    if (this.#isOwn) this.#span.end(at)
  }
}

function setRefused(span: Span): void {
  span.setAttribute('consume_once.outcome', 'settle-refused' satisfies Outcome)
}

const ERRORS: ReadonlySet<Outcome> = new Set(['failed', 'dead-lettered', 'parked', 'lease-lost'])

export function isError(outcome: Outcome): boolean {
  return ERRORS.has(outcome)
}

export function setError(span: Span, { type, message }: TracedError): void {
  span.setAttribute('error.type', type)
  span.setStatus(message === '' ? { code: SpanStatusCode.ERROR } : { code: SpanStatusCode.ERROR, message })
}

/** Outcomes that are settled after the broker has confirmed a copy. */
const WITH_COPY: ReadonlySet<Outcome | undefined> = new Set(['failed', 'dead-lettered', 'parked', 'handed-back'])

/**
 * Spans of the steps that are over. An ack or a commit is none: it goes out after the settle, for many messages at
 * once.
 */
export function addSteps(tracer: Tracer, parent: Span, steps: TracedSteps, outcome: Outcome | undefined): void {
  const within = trace.setSpan(context.active(), parent)
  const add = (name: string, step: TracedStep | undefined): void => {
    if (step === undefined) return
    tracer.startSpan(name, { kind: SpanKind.INTERNAL, startTime: step.from }, within).end(step.to)
  }
  add('consume_once.claim', steps.claim)
  add('consume_once.mark', steps.mark)
  if (WITH_COPY.has(outcome)) add('consume_once.settle', steps.settle)
}

function isSampled(span: Span): boolean {
  return (span.spanContext().traceFlags & TraceFlags.SAMPLED) !== 0
}

function traceparentOf({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
}

import { randomBytes } from 'node:crypto'
import { ROOT_CONTEXT, TraceFlags, context, trace, type Context, type Span } from '@opentelemetry/api'
import type { Message, RunTrace } from '../../src/internal.ts'
import { producerOf } from './producer.ts'

/**
 * A run whose spans are not recorded, and neither are those of what its handler calls. It is also the context of its
 * handler, and makes what is in it when somebody asks. A context of `trace.setSpan()` has a map and three functions of
 * its own, and few handlers of messages that are not sampled ever look.
 */
export class UnsampledRun implements RunTrace, Context {
  /** `undefined`: a batch, which has several producers. */
  readonly #message: Message | undefined
  #base: Context | undefined
  #span: Span | undefined

  /** Without a span: no tracer was asked. */
  constructor(message: Message | undefined, span?: Span) {
    this.#message = message
    this.#base = undefined
    this.#span = span
  }

  get isRecorded(): boolean {
    return false
  }

  get traceparent(): undefined {
    return undefined
  }

  run<T>(handler: () => T): T {
    return context.with(this, handler)
  }

  handled(): void {}

  ending(): void {}

  ended(): void {}

  getValue(key: symbol): unknown {
    return key === SPAN ? (this.#span ??= unsampledSpan()) : this.#producer.getValue(key)
  }

  setValue(key: symbol, value: unknown): Context {
    return this.#copy().setValue(key, value)
  }

  deleteValue(key: symbol): Context {
    return this.#copy().deleteValue(key)
  }

  #copy(): Context {
    return trace.setSpan(this.#producer, (this.#span ??= unsampledSpan()))
  }

  get #producer(): Context {
    return (this.#base ??= this.#message === undefined ? ROOT_CONTEXT : producerOf(this.#message))
  }
}

/** By which `trace.getSpan()` asks a context. */
const SPAN = keyOfSpan()

function keyOfSpan(): symbol | undefined {
  let key: symbol | undefined
  const asked: Context = {
    getValue(of) {
      key = of
      return undefined
    },
    setValue: () => ROOT_CONTEXT,
    deleteValue: () => ROOT_CONTEXT,
  }
  trace.getSpan(asked)
  return key
}

const ID_CHARACTERS = 16
const IDS_OF_PROCESS = randomBytes(ID_CHARACTERS / 2).toString('hex')

let made = 0

/** The first half of its trace ID is random and the second counts. */
function unsampledSpan(): Span {
  made++
  const spanId = made.toString(16).padStart(ID_CHARACTERS, '0')
  return trace.wrapSpanContext({ traceId: IDS_OF_PROCESS + spanId, spanId, traceFlags: TraceFlags.NONE })
}

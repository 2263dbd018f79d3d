import { AsyncResource } from 'node:async_hooks'
import type { Delivery } from '../../../src/internal.ts'
import type { AmqpMessage } from '../amqplib-like.ts'

/**
 * An instrumentation keeps the span of a message under a symbol of the message object, and ends the span when this very
 * object is settled.
 */
export function isInstrumented(raw: AmqpMessage): boolean {
  return Object.getOwnPropertySymbols(raw).length > 0
}

/** The context in which amqplib calls back: the span of the message is active in it. */
export function contextOf(raw: AmqpMessage): Delivery['within'] {
  if (!isInstrumented(raw)) return undefined
  const resource = new AsyncResource('consume-once delivery')
  return (work) => resource.runInAsyncScope(work)
}

import { either, object, oneOf, type Rule, type Table } from '../../../src/internal.ts'
import { NAME } from './names.ts'
import type { RabbitDeadLetter, RabbitOptions } from './options.ts'

/** How a message gets to its dead-letter place. */
export type DeadLetterWay =
  | { readonly kind: 'queue'; readonly queue: string }
  /** `routingKey`: `undefined` keeps that of the message. */
  | { readonly kind: 'exchange'; readonly exchange: string; readonly routingKey: string | undefined }
  /** Through the queue's own dead-letter exchange. */
  | { readonly kind: 'reject' }

const TABLE: Table<RabbitDeadLetter, 'queue' | 'exchange' | 'routingKey'> = {
  queue: NAME,
  exchange: NAME,
  routingKey: either(oneOf(''), NAME),
}

export const DEAD_LETTER: Rule<RabbitDeadLetter | 'reject'> = either(oneOf('reject'), object(TABLE))

export function deadLetterWay({ queue: consumed, deadLetter }: DeadLetterOptions): DeadLetterWay {
  if (deadLetter === 'reject') return { kind: 'reject' }
  const { exchange, routingKey, queue = `${consumed}.dead-letter` } = deadLetter
  return exchange === undefined ? { kind: 'queue', queue } : { kind: 'exchange', exchange, routingKey }
}

type DeadLetterOptions = Required<Pick<RabbitOptions, 'queue' | 'deadLetter'>>

/** @param problems - problems are added here */
export function problemsOfDeadLetter({ deadLetter }: DeadLetterOptions, problems: string[]): void {
  if (deadLetter === 'reject') return
  const { exchange, routingKey, queue } = deadLetter
  if (exchange === undefined && routingKey !== undefined) {
    problems.push('deadLetter.routingKey: leave it out without exchange: queue names the queue')
  }
  if (exchange !== undefined && queue !== undefined) {
    problems.push('deadLetter.queue: leave it out with exchange, whose bindings name the queue')
  }
}

import { checkNames } from '../../../src/spi.ts'
import { isName, MOST_NAME_BYTES } from './names.ts'
import { shown } from './shown.ts'
import type { RabbitOptions } from './options.ts'

/** How a message gets to its dead-letter place. */
export type DeadLetterWay =
  | { readonly kind: 'queue'; readonly queue: string }
  /** `routingKey`: `undefined` keeps that of the message. */
  | { readonly kind: 'exchange'; readonly exchange: string; readonly routingKey: string | undefined }
  /** Through the queue's own dead-letter exchange. */
  | { readonly kind: 'reject' }

const KNOWN = { queue: true, exchange: true, routingKey: true }

export function resolveDeadLetter(
  { queue: consumed, deadLetter = {} }: Pick<RabbitOptions, 'queue' | 'deadLetter'>,
  of: string,
  problems: string[],
): DeadLetterWay {
  if (deadLetter === 'reject') return { kind: 'reject' }
  if (typeof deadLetter !== 'object' || deadLetter === null) {
    problems.push(`deadLetter: expected 'reject', { queue } or { exchange }, got ${shown(deadLetter)}`)
    return { kind: 'reject' }
  }
  checkNames('deadLetter.', deadLetter, { of, known: KNOWN }, problems)
  const { exchange, routingKey, queue } = deadLetter
  if (exchange === undefined) {
    if (routingKey !== undefined) {
      problems.push('deadLetter.routingKey: leave it out without exchange: queue names the queue')
    }
    const name = queue ?? `${consumed}.dead-letter`
    checkName('deadLetter.queue', name, problems)
    return { kind: 'queue', queue: name }
  }
  if (queue !== undefined) {
    problems.push('deadLetter.queue: leave it out with exchange, whose bindings name the queue')
  }
  checkName('deadLetter.exchange', exchange, problems)
  if (routingKey !== undefined && routingKey !== '') checkName('deadLetter.routingKey', routingKey, problems)
  return { kind: 'exchange', exchange, routingKey }
}

function checkName(option: string, name: unknown, problems: string[]): void {
  if (isName(name)) return
  problems.push(
    `${option}: expected a name of 1 to ${MOST_NAME_BYTES} bytes without control characters, got ${shown(name)}`,
  )
}

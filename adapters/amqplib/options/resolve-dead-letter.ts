import { checkOneOf } from '../../../src/spi.ts'
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

type Given = Pick<
  RabbitOptions,
  'queue' | 'deadLetter' | 'deadLetterQueue' | 'deadLetterExchange' | 'deadLetterRoutingKey'
>

export function resolveDeadLetter(given: Given, problems: string[]): DeadLetterWay {
  const { queue, deadLetter = 'publish', deadLetterExchange: exchange, deadLetterRoutingKey: routingKey } = given
  checkOneOf('deadLetter', deadLetter, ['publish', 'reject'], problems, shown)
  if (deadLetter === 'reject') {
    for (const name of ['deadLetterQueue', 'deadLetterExchange', 'deadLetterRoutingKey'] as const) {
      if (given[name] === undefined) continue
      problems.push(`${name}: leave it out with deadLetter: 'reject': the queue's own dead-letter exchange decides`)
    }
    return { kind: 'reject' }
  }
  if (exchange === undefined) {
    if (routingKey !== undefined) {
      problems.push('deadLetterRoutingKey: leave it out without deadLetterExchange: deadLetterQueue names the queue')
    }
    const { deadLetterQueue = `${queue}.dead-letter` } = given
    checkName('deadLetterQueue', deadLetterQueue, problems)
    return { kind: 'queue', queue: deadLetterQueue }
  }
  if (given.deadLetterQueue !== undefined) {
    problems.push('deadLetterQueue: leave it out with deadLetterExchange, whose bindings name the queue')
  }
  checkName('deadLetterExchange', exchange, problems)
  if (routingKey !== undefined && routingKey !== '') checkName('deadLetterRoutingKey', routingKey, problems)
  return { kind: 'exchange', exchange, routingKey }
}

function checkName(option: string, name: unknown, problems: string[]): void {
  if (isName(name)) return
  problems.push(
    `${option}: expected a name of 1 to ${MOST_NAME_BYTES} bytes without control characters, got ${shown(name)}`,
  )
}

import { ConfigError, checkFunction, checkNames, type Message } from '../../../src/index.ts'
import { isName, MOST_NAME_BYTES } from '../options/names.ts'
import type { ConfirmedPublisher } from '../publishing/confirmed-publisher.ts'

export interface OnMessageOptions {
  /**
   * The queue that is consumed, which no delivery tells: part of every key, which are those of `runRabbit` then. Left out, the
   * consumer's name stands in for it: consumers of one name that share a store then share their keys whatever they consume, so
   * that a message for one of them is a duplicate for the other. @defaultValue the consumer's name
   */
  readonly queue?: string
  /**
   * What becomes of a message that must be dead-lettered. `{ publisher, queue }`: it is published to that queue, confirmed,
   * with its reason in headers, and then acked. `reject`: rejected to the dead-letter exchange of its own queue, without a
   * reason; a queue that has none drops it, and the broker's own dead-lettering is at-most-once by default. Left out, it is
   * refused by `publish-failed` events and stays unacked until there is a choice.
   */
  readonly deadLetter?: 'reject' | { readonly publisher: ConfirmedPublisher; readonly queue: string }
  /**
   * The ordering key: messages of one lane are handled in the order they arrive, one at a time. Should it throw, the message
   * has no lane. @defaultValue none, no order
   */
  readonly lane?: (message: Message) => string | undefined
}

const KNOWN: Readonly<Record<keyof OnMessageOptions, true>> = { queue: true, deadLetter: true, lane: true }

/** Reports all problems in one error. @throws ConfigError `CONFIG_INVALID` */
export function checkOnMessage(channel: unknown, options: OnMessageOptions): void {
  const problems: string[] = []
  if (!isChannel(channel))
    problems.push('channel: expected a channel of amqplib, such as createChannel() resolves with')
  checkNames('', options, { known: KNOWN }, problems)
  const { queue, deadLetter, lane } = options
  const expectName = (value: unknown, name: string): void => {
    if (!isName(value))
      problems.push(
        `${name}: expected a name of 1 to ${MOST_NAME_BYTES} bytes without control characters, got ${JSON.stringify(value)}`,
      )
  }
  if (queue !== undefined) expectName(queue, 'queue')
  if (typeof deadLetter === 'object' && deadLetter !== null) {
    expectName(deadLetter.queue, 'deadLetter.queue')
    if (queue !== undefined && deadLetter.queue === queue)
      problems.push(`deadLetter.queue: expected another queue than the one consumed, got ${JSON.stringify(queue)}`)
  } else if (deadLetter !== undefined && deadLetter !== 'reject') {
    problems.push(`deadLetter: expected 'reject' or { publisher, queue }, got ${JSON.stringify(deadLetter)}`)
  }
  if (lane !== undefined) checkFunction('lane', lane, problems)
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `onMessage: ${problem}`))
}

function isChannel(channel: unknown): boolean {
  const wanted = ['ack', 'nack', 'reject', 'on', 'removeListener']
  return typeof channel === 'object' && channel !== null && wanted.every((name) => isMethod(channel, name))
}

function isMethod(target: object, name: string): boolean {
  return typeof (target as Readonly<Record<string, unknown>>)[name] === 'function'
}

import { ConfigError, checkFunction, checkNames, givenOf, type Message } from '../../../src/spi.ts'
import { isName, MOST_NAME_BYTES } from '../options/names.ts'
import type { ConfirmedPublisher } from '../publishing/confirmed-publisher.ts'

export interface OnMessageOptions {
  /**
   * The consumed queue, which deliveries do not name. It is part of every key; with it the keys are those of
   * `runRabbit`. Without it the consumer's name is used instead: consumers with the same name that share a store then
   * share their keys whatever they consume, and a message of one is a duplicate for the other.
   * @defaultValue the consumer's name
   */
  readonly queue?: string
  /**
   * What happens to a message that must be dead-lettered. `{ publisher, queue }`: it is published to that queue, with
   * its reason in headers, and acked after the confirm. `reject`: it is rejected to the dead-letter exchange of its own
   * queue, without a reason. A queue without such an exchange drops it, and the broker moves dead letters at most once
   * by default. Without this option, `publish-failed` events report the message and it stays unacked until you set the
   * option.
   */
  readonly deadLetter?: 'reject' | { readonly publisher: ConfirmedPublisher; readonly queue: string }
  /**
   * Returns the ordering key: messages of one lane are handled one at a time, in the order of their arrival. If it
   * throws, the message has no lane.
   * @defaultValue none, no order
   */
  readonly lane?: (message: Message) => string | undefined
}

const KNOWN: Readonly<Record<keyof OnMessageOptions, true>> = { queue: true, deadLetter: true, lane: true }

/**
 * Reports all problems in one error.
 * @throws ConfigError `CONFIG_INVALID`
 */
export function checkOnMessage(channel: unknown, options: OnMessageOptions): void {
  const problems: string[] = []
  if (!isChannel(channel))
    problems.push('channel: expected a channel of amqplib, such as createChannel() resolves with')
  const given = givenOf(options)
  checkNames('', given, { of: 'onMessage()', known: KNOWN }, problems)
  const { queue, deadLetter, lane } = given
  const expectName = (value: unknown, name: string): void => {
    if (!isName(value))
      problems.push(
        `${name}: expected a name of 1 to ${MOST_NAME_BYTES} bytes without control characters, got ${JSON.stringify(value)}`,
      )
  }
  if (queue !== undefined) expectName(queue, 'queue')
  if (typeof deadLetter === 'object' && deadLetter !== null) {
    const known = { publisher: true, queue: true }
    checkNames('deadLetter.', deadLetter, { of: 'onMessage()', known }, problems)
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

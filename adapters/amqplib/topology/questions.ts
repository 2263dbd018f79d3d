import { ConfigError, describeError } from '../../../src/index.ts'
import { closeQuietly } from '../connection/close.ts'
import type { Link } from '../connection/link.ts'
import { openChannel } from '../connection/open-channel.ts'
import { watch } from '../connection/watch.ts'
import { within } from '../connection/within.ts'
import type { RabbitSettings } from '../options/resolve.ts'
import type { AmqpChannel } from '../slice.ts'
import type { QueuePlan } from './plans.ts'

const ANSWER_WITHIN_MS = 15_000
/** More than there are arguments. */
const MOST_QUESTIONS = 40

type QueueArgument = string | number | boolean
export type QueueArguments = Readonly<Record<string, QueueArgument>>

/** Each question on a channel of its own: a "no" closes the channel. Rejects with that. */
export async function ask<T>(link: Link, what: string, question: (channel: AmqpChannel) => Promise<T>): Promise<T> {
  const channel = await openChannel(link.connection.createChannel(), ANSWER_WITHIN_MS)
  watch(channel, () => {})
  try {
    return await within(ANSWER_WITHIN_MS, what, question(channel))
  } finally {
    await closeQuietly(channel)
  }
}

export async function declare(link: Link, queue: string, wanted: QueueArguments): Promise<void> {
  await ask(link, `declare ${queue}`, (channel) => channel.assertQueue(queue, { durable: true, arguments: wanted }))
}

/** Resolves with how many messages are ready in it. */
export async function checkQueue(link: Link, queue: string): Promise<number> {
  const { messageCount } = await ask(link, `check ${queue}`, (channel) => channel.checkQueue(queue))
  return messageCount
}

/** How many consume it, from any connection. */
export async function consumersOf(link: Link, queue: string): Promise<number> {
  const { consumerCount } = await ask(link, `check ${queue}`, (channel) => channel.checkQueue(queue))
  return consumerCount
}

/** How a queue was declared, as far as its answers tell. */
export interface Declaration {
  readonly durable: boolean
  readonly autoDelete: boolean
  readonly arguments: QueueArguments
}

/**
 * How an existing queue was declared. To a declaration that differs the broker answers with the first argument that does,
 * and its value: so each answer mends the next question, and none changes anything. Each time the queue must just have been
 * seen, or the question would create it. What a policy adds is not told. `unknown`: not to be found out.
 */
export async function declarationOf(link: Link, queue: string): Promise<Declaration | 'missing' | 'unknown'> {
  let guess: Declaration = { durable: true, autoDelete: false, arguments: {} }
  for (let asked = 0; asked < MOST_QUESTIONS; asked++) {
    const question = guess
    try {
      await checkQueue(link, queue)
      await ask(link, `inspect ${queue}`, (channel) => channel.assertQueue(queue, question))
      return guess
    } catch (error) {
      if (isReply(error, 404)) return 'missing'
      const answer = isReply(error, 406) ? answerIn(describeError(error)) : undefined
      // The connection itself is no question of this queue.
      if (answer === undefined && !isReply(error, 403, 405, 406)) throw error
      if (answer === undefined) return 'unknown'
      const { name, value } = answer
      if (name === 'durable') guess = { ...guess, durable: value === 'true' }
      else if (name === 'auto_delete') guess = { ...guess, autoDelete: value === 'true' }
      else guess = { ...guess, arguments: withArgument(guess.arguments, name, value) }
    }
  }
  return 'unknown'
}

const DIFFERENCE =
  /inequivalent arg '([^']+)' for queue '[\s\S]*' in vhost '[\s\S]*': received [\s\S]* but current is (none|the value '([\s\S]*)' of type '(\w+)'|'([\s\S]*)')/

interface Answer {
  readonly name: string
  /** `undefined`: not declared. */
  readonly value: QueueArgument | undefined
}

function answerIn(text: string): Answer | undefined {
  const [, name, current, typedValue, type, plainValue] = DIFFERENCE.exec(text) ?? []
  if (name === undefined) return undefined
  if (current === 'none') return { name, value: undefined }
  // Without a type where a default of the broker differs from it: only the queue type has one.
  if (plainValue !== undefined) return { name, value: plainValue }
  if (typedValue === undefined || type === 'longstr') return { name, value: typedValue }
  if (type === 'bool') return { name, value: typedValue === 'true' }
  const number = Number(typedValue)
  return Number.isNaN(number) ? undefined : { name, value: number }
}

function withArgument(args: QueueArguments, name: string, value: QueueArgument | undefined): QueueArguments {
  const { [name]: _before, ...others } = args
  return value === undefined ? others : { ...others, [name]: value }
}

/** What to do about a queue that is missing. */
export function adviceOn({ deadLetter }: RabbitSettings, role: QueuePlan['role'] = 'consumed'): string {
  return role === 'consumed' && deadLetter.kind === 'reject'
    ? "Declare it yourself, with x-dead-letter-exchange: with deadLetter: 'reject' it is never declared here"
    : 'Create it, or let assert: true declare queues'
}

/**
 * An answer of the broker that only a change of queue or options can mend; `undefined`: something else went wrong.
 * `ifMissing` says what to do then.
 */
export function problemIn(error: unknown, what: string, ifMissing: string): string | undefined {
  if (isInUse(error)) return undefined
  const why = describeError(error)
  if (isReply(error, 404)) return `${what}: expected to exist, got: ${why}. ${ifMissing}`
  if (isReply(error, 406)) return `${what}: expected it to be as it is used here, got: ${why}`
  if (isReply(error, 403)) return `${what}: expected to be allowed to use it, got: ${why}`
  return undefined
}

/** Ends the text of a 403; a right that is missing is refused `for user '…'`. The same on 3.10, 4.0 and 4.3. */
const EXCLUSIVE_CONSUMER = /' in exclusive use"?$/

/**
 * Another connection has the queue for itself, by an exclusive consumer (403) or as an exclusive queue (405). It ends with that
 * connection, so nothing needs to be changed here.
 */
export function isInUse(error: unknown): boolean {
  return isReply(error, 405) || (isReply(error, 403) && EXCLUSIVE_CONSUMER.test(describeError(error)))
}

/** For what `problemIn` knows; other errors as they are. */
export function asConfigError(error: unknown, what: string, ifMissing: string): unknown {
  const problem = problemIn(error, what, ifMissing)
  return problem === undefined ? error : new ConfigError([`RabbitMQ: ${problem}`], 'CONFIG_INVALID', { cause: error })
}

export function isReply(error: unknown, ...codes: readonly number[]): boolean {
  return error instanceof Error && 'code' in error && codes.some((code) => code === error.code)
}

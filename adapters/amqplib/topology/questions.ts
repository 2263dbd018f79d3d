import { ConfigError, describeError, systemEntropy } from '../../../src/internal.ts'
import { closeQuietly } from '../connection/close.ts'
import type { Link } from '../connection/link.ts'
import { openChannel } from '../connection/open-channel.ts'
import { watch } from '../connection/watch.ts'
import { answerWithin } from '../connection/answer-within.ts'
import type { RabbitSettings } from '../options/resolve.ts'
import type { AmqpChannel } from '../amqplib-like.ts'
import type { QueueArgument, QueueArguments, QueuePlan } from './plans.ts'
import { isAtLeast } from './server-version.ts'

const ANSWER_WITHIN_MS = 15_000
/** More than there are arguments. */
const MOST_QUESTIONS = 40

/** Asks on a channel of its own, because a refusal closes the channel. Rejects with the refusal. */
export async function ask<T>(link: Link, what: string, question: (channel: AmqpChannel) => Promise<T>): Promise<T> {
  const channel = await openChannel(link.connection.createChannel(), ANSWER_WITHIN_MS)
  watch(channel, () => {})
  try {
    return await answerWithin(ANSWER_WITHIN_MS, what, question(channel))
  } finally {
    await closeQuietly(channel)
  }
}

export async function declare(link: Link, queue: string, wanted: QueueArguments): Promise<void> {
  await ask(link, `declare ${queue}`, (channel) => channel.assertQueue(queue, { durable: true, arguments: wanted }))
}

/** Resolves with the number of ready messages. */
export async function checkQueue(link: Link, queue: string): Promise<number> {
  const { messageCount } = await ask(link, `check ${queue}`, (channel) => channel.checkQueue(queue))
  return messageCount
}

/** Resolves with the number of consumers, of any connection. */
export async function consumersOf(link: Link, queue: string): Promise<number> {
  const { consumerCount } = await ask(link, `check ${queue}`, (channel) => channel.checkQueue(queue))
  return consumerCount
}

/** How a queue was declared, as far as its answers show. */
export interface Declaration {
  readonly durable: boolean
  readonly autoDelete: boolean
  readonly arguments: QueueArguments
}

/**
 * Finds out how an existing queue was declared. The broker answers a different declaration with the first argument that
 * differs, and its value. So each answer corrects the next question, and none changes anything. Before each question
 * the queue must have been checked, or the question would create it. Arguments of a policy are not visible. `unknown`:
 * it cannot be found out.
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
      // An error of the connection says nothing about this queue.
      if (answer === undefined && !isReply(error, 403, 405, 406)) throw error
      if (answer === undefined) return ofUnnamed(link, queue)
      const { name, value } = answer
      if (name === 'durable') guess = { ...guess, durable: value === 'true' }
      else if (name === 'auto_delete') guess = { ...guess, autoDelete: value === 'true' }
      else guess = { ...guess, arguments: withArgument(guess.arguments, name, value) }
    }
  }
  return ofUnnamed(link, queue)
}

const STREAM: Declaration = { durable: true, autoDelete: false, arguments: { 'x-queue-type': 'stream' } }

/** Who may not declare a queue can still find out that it is a stream. */
async function ofUnnamed(link: Link, queue: string): Promise<Declaration | 'unknown'> {
  if (link.serverVersion !== '' && !isAtLeast(link.serverVersion, 3, 10)) return 'unknown'
  return (await isStream((what, question) => ask(link, what, question), queue)) === true ? STREAM : 'unknown'
}

/**
 * True for a stream, by a question that needs only the right to read: to consume from an offset. Other types of queues
 * refuse that argument (406) from 3.10 on; a stream delivers a message at most, which stays where it is. `undefined`: it
 * cannot be found out.
 */
export async function isStream(
  asker: (what: string, question: (channel: AmqpChannel) => Promise<unknown>) => Promise<unknown>,
  queue: string,
): Promise<boolean | undefined> {
  try {
    await asker(`look at the type of ${queue}`, async (channel) => {
      await channel.prefetch(1)
      const consumerTag = `consume-once-type-${systemEntropy.ownerToken()}`
      await channel.consume(queue, () => {}, { consumerTag, arguments: { 'x-stream-offset': 'next' } })
    })
    return true
  } catch (error) {
    if (isReply(error, 406)) return OTHER_TYPE.test(describeError(error)) ? false : undefined
    if (isReply(error, 403, 404, 405)) return undefined
    throw error
  }
}

/** `… of queue type rabbit_quorum_queue`. The same on 3.10, 4.0 and 4.3. */
const OTHER_TYPE = /invalid arg 'x-stream-offset' for queue/

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
  // The type is missing if the value is a default of the broker, which only the queue type has.
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

/** What to do about a missing queue. */
export function adviceOn({ deadLetter }: RabbitSettings, role: QueuePlan['role'] = 'consumed'): string {
  return role === 'consumed' && deadLetter.kind === 'reject'
    ? "Declare it yourself, with x-dead-letter-exchange: with deadLetter: 'reject' it is never declared here"
    : "Create it, or let setup: 'auto' declare queues"
}

/**
 * The problem in a refusal that only a change of queue or options can fix; `undefined` for any other error. `ifMissing`
 * is the advice for a missing queue.
 */
export function problemIn(error: unknown, what: string, ifMissing: string): string | undefined {
  if (isInUse(error)) return undefined
  const why = describeError(error)
  if (isReply(error, 404)) return `${what}: expected to exist, got: ${why}. ${ifMissing}`
  if (isReply(error, 406)) return `${what}: expected it to be as it is used here, got: ${why}`
  if (isReply(error, 403)) return `${what}: expected to be allowed to use it, got: ${why}`
  return undefined
}

/** End of the text of a 403. A missing permission says `for user '…'` instead. The same on 3.10, 4.0 and 4.3. */
const EXCLUSIVE_CONSUMER = /' in exclusive use"?$/

/**
 * Another connection uses the queue exclusively, by an exclusive consumer (403) or as an exclusive queue (405). That
 * ends with the other connection, so nothing needs to be changed here.
 */
export function isInUse(error: unknown): boolean {
  return isReply(error, 405) || (isReply(error, 403) && EXCLUSIVE_CONSUMER.test(describeError(error)))
}

/** A ConfigError for errors that `problemIn` knows; other errors unchanged. */
export function asConfigError(error: unknown, what: string, ifMissing: string): unknown {
  const problem = problemIn(error, what, ifMissing)
  return problem === undefined ? error : new ConfigError([`RabbitMQ: ${problem}`], 'CONFIG_INVALID', { cause: error })
}

export function isReply(error: unknown, ...codes: readonly number[]): boolean {
  return error instanceof Error && 'code' in error && codes.some((code) => code === error.code)
}

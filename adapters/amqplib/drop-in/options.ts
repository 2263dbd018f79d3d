import {
  asGiven,
  either,
  ELSEWHERE,
  func,
  having,
  needed,
  object,
  OF_THE_CONSUMER,
  oneOf,
  readOptions,
  refuse,
  type Message,
  type Table,
} from '../../../src/internal.ts'
import { NAME } from '../options/names.ts'
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

type OwnDeadLetter = Exclude<NonNullable<OnMessageOptions['deadLetter']>, 'reject'>

const DEAD_LETTER: Table<OwnDeadLetter> = {
  publisher: needed(having('what confirmedPublisher() returned')),
  queue: needed(NAME),
}

export const ON_MESSAGE: Table<OnMessageOptions, keyof OnMessageOptions> = {
  queue: NAME,
  deadLetter: either(oneOf('reject'), asGiven(object(DEAD_LETTER))),
  lane: func(),
  [ELSEWHERE]: OF_THE_CONSUMER,
}

const CHANNEL = having(
  'a channel of amqplib, such as createChannel() resolves with',
  'ack',
  'nack',
  'reject',
  'on',
  'removeListener',
)

/** @throws ConfigError `CONFIG_INVALID`, with all problems at once */
export function checkOnMessage(channel: unknown, given: OnMessageOptions): void {
  const problems: string[] = []
  CHANNEL.read(channel, { name: 'channel', problems })
  const { queue, deadLetter } = readOptions(ON_MESSAGE, given, { name: '', problems })
  problemsOfDeadLetter({ deadLetter, queue }, problems)
  refuse('onMessage', problems)
}

export function problemsOfDeadLetter(
  { deadLetter, queue }: Readonly<Record<'deadLetter' | 'queue', unknown>>,
  problems: string[],
): void {
  if (queue === undefined || (deadLetter as Partial<OwnDeadLetter> | undefined)?.queue !== queue) return
  problems.push(`deadLetter.queue: expected another queue than the one consumed, got ${JSON.stringify(queue)}`)
}

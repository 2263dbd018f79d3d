import { copyText } from './values.ts'
import { COPY_HEADER } from './vocabulary.ts'

type Headers = Readonly<Record<string, unknown>>

/** Topic names that Kafka accepts. */
const TOPIC_NAME: RegExp = /^[a-zA-Z0-9._-]{1,249}$/

export function isTopicName(topic: unknown): topic is string {
  return typeof topic === 'string' && TOPIC_NAME.test(topic)
}

/** The topic to which the message was first published, if its headers name one. */
export function originTopicIn(headers: Headers): string | undefined {
  const named = copyText(headers, COPY_HEADER.originTopic)
  return isTopicName(named) ? named : undefined
}

/** Topic names that Kafka accepts. */
const TOPIC_NAME: RegExp = /^[a-zA-Z0-9._-]{1,249}$/

export function isTopicName(topic: unknown): topic is string {
  return typeof topic === 'string' && TOPIC_NAME.test(topic)
}

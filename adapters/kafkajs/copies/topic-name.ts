/** What Kafka accepts as the name of a topic. */
const TOPIC_NAME: RegExp = /^[a-zA-Z0-9._-]{1,249}$/

export function isTopicName(topic: unknown): topic is string {
  return typeof topic === 'string' && TOPIC_NAME.test(topic)
}

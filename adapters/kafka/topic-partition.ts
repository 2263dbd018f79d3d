export interface TopicPartition {
  readonly topic: string
  readonly partition: number
}

/** `topic/partition`. Topic names contain no slash. */
export function nameOf({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`
}

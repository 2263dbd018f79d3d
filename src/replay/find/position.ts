/** A message of a log, by its place. */
export interface Position {
  readonly topic: string
  readonly partition: string
  readonly offset: bigint
}

/** Reads `topic/partition/offset`, as logs and lists show it, also with colons or `kafka:` before it. `undefined` for other text. */
export function positionIn(text: string): Position | undefined {
  const [, topic, partition, offset] = /^(?:kafka:)?([^/:]+)[/:](\d{1,9})[/:](\d{1,18})$/.exec(text) ?? []
  if (topic === undefined || partition === undefined || offset === undefined) return undefined
  return { topic, partition, offset: BigInt(offset) }
}

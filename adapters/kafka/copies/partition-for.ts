/** What a partition is chosen from. */
export interface Choice {
  readonly partitionMetadata: readonly { readonly partitionId: number; readonly leader: number }[]
  readonly message: { readonly key?: Buffer | string | null; readonly partition?: number }
}

/**
 * The partition that was asked for, else one that keeps messages of one key together. Other clients may choose other
 * partitions; nothing here depends on the choice.
 */
export function partitionFor({ partitionMetadata, message }: Choice): number {
  if (message.partition !== undefined) return message.partition
  const led = partitionMetadata.filter(({ leader }) => leader >= 0)
  const choice = led.length > 0 ? led : partitionMetadata
  const sorted = choice.map(({ partitionId }) => partitionId).toSorted((a, b) => a - b)
  let hash = 0
  for (const byte of Buffer.from(message.key ?? '')) hash = (hash * 31 + byte) >>> 0
  return sorted[hash % sorted.length] ?? 0
}

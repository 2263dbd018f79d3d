import type { PartitionHealth, Work } from '../../../src/internal.ts'
import type { PartitionEpoch } from '../membership/partition-epoch.ts'

/** Progress of a partition as this member knows it. The end of the partition is that of the last batch. */
export function partitionHealth(epoch: PartitionEpoch, isAllPaused: boolean): PartitionHealth {
  const { name, watermark, committed, high, inFlight, bytes, watermarkAgeMs, holds } = epoch
  return {
    name,
    watermark: watermark?.toString(),
    committed: committed?.toString(),
    lag: distance(watermark, high),
    committedLag: distance(committed, high),
    watermarkAgeMs,
    inFlight,
    bytesInFlight: bytes,
    paused: isAllPaused ? ['consumer', ...holds] : [...holds],
  }
}

/**
 * Its messages that the broker has, as the last batch told, although nothing of it is in flight and it is not paused. A
 * fetch brings them within seconds.
 */
export function unfetchedOf(epoch: PartitionEpoch): Work | undefined {
  const { name, watermark, high, inFlight, waiting, holds } = epoch
  if (watermark === undefined || high === undefined || high <= watermark) return undefined
  if (inFlight > 0 || waiting > 0 || holds.size > 0) return undefined
  return { place: name, item: epoch, step: watermark, position: `${epoch.partition}@${watermark}` }
}

function distance(from: bigint | undefined, to: bigint | undefined): number | undefined {
  if (from === undefined || to === undefined) return undefined
  return to > from ? Number(to - from) : 0
}

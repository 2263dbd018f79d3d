import type { PartitionHealth } from '../../../src/spi.ts'
import type { PartitionEpoch } from '../membership/partition-epoch.ts'

/** Progress of a partition as this member knows it. The end of the partition is that of the last batch. */
export function partitionHealth(epoch: PartitionEpoch, isAllPaused: boolean): PartitionHealth {
  const { name, watermark, committed, high, load, watermarkAgeMs, holds } = epoch
  return {
    name,
    watermark: watermark?.toString(),
    committed: committed?.toString(),
    lag: distance(watermark, high),
    committedLag: distance(committed, high),
    watermarkAgeMs,
    inFlight: load.inFlight,
    bytesInFlight: load.bytes,
    paused: isAllPaused ? ['store', ...holds] : [...holds],
  }
}

function distance(from: bigint | undefined, to: bigint | undefined): number | undefined {
  if (from === undefined || to === undefined) return undefined
  return to > from ? Number(to - from) : 0
}

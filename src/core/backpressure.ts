/** Deliveries of one partition or queue that are in flight. */
export interface Load {
  readonly inFlight: number
  readonly bytes: number
  /**
   * Number of positions from the lowest unfinished one to the newest. A watermark must remember them, and a crash may
   * repeat them.
   */
  readonly watermarkLag: number
}

/**
 * Full when any limit is reached. After that it stays full until messages and bytes are at most half of their limits,
 * so that the next fetch is worth its cost. The lag of a watermark has no such half: one stuck message holds all of it,
 * and the messages behind it may use the whole limit, however often the partition was full.
 */
export function isFull(load: Load, limits: Load, wasFull: boolean): boolean {
  const { inFlight, bytes, watermarkLag } = limits
  if (load.watermarkLag >= watermarkLag) return true
  return wasFull
    ? load.inFlight > inFlight / 2 || load.bytes > bytes / 2
    : load.inFlight >= inFlight || load.bytes >= bytes
}

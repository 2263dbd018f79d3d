/** What one partition or queue has under way: taken from the broker and not finished. */
export interface Load {
  readonly inFlight: number
  readonly bytes: number
  /** Positions from the lowest unfinished one to the newest: what a watermark must remember, and a crash may repeat. */
  readonly watermarkLag: number
}

/**
 * Full at any one of the limits. Then full until messages and bytes are at most half of theirs, so that what is taken next is worth a
 * turn. The lag of a watermark does not go down bit by bit as messages finish: one stuck message holds all of it, and what lies behind
 * that message may use the whole limit, however often the partition was full.
 */
export function isFull(load: Load, limits: Load, wasFull: boolean): boolean {
  const { inFlight, bytes, watermarkLag } = limits
  if (load.watermarkLag >= watermarkLag) return true
  return wasFull
    ? load.inFlight > inFlight / 2 || load.bytes > bytes / 2
    : load.inFlight >= inFlight || load.bytes >= bytes
}

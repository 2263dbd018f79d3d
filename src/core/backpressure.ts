/** What one partition or queue has under way: taken from the broker and not finished. */
export interface Load {
  readonly inFlight: number
  readonly bytes: number
  /** Positions from the lowest unfinished one to the newest: what a watermark must remember, and a crash may repeat. */
  readonly watermarkLag: number
}

/** Full at any one of the limits; then full until all of them are at most half used. */
export function isFull(load: Load, limits: Load, wasFull: boolean): boolean {
  const { inFlight, bytes, watermarkLag } = limits
  return wasFull
    ? load.inFlight > inFlight / 2 || load.bytes > bytes / 2 || load.watermarkLag > watermarkLag / 2
    : load.inFlight >= inFlight || load.bytes >= bytes || load.watermarkLag >= watermarkLag
}

/** One clock for all processes of this machine, in milliseconds, that no fault moves: a worker's calendar may be shifted. */
export function trueMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

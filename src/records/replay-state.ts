import { StoreError } from '../foundation/errors.ts'

const MOST_BYTES = 1_000_000

/** @throws StoreError `STORE_MISUSED` for a state that a `ReplayLedger` does not keep */
export function checkReplayState(state: string): void {
  const bytes = Buffer.byteLength(state)
  if (bytes <= MOST_BYTES) return
  throw new StoreError('STORE_MISUSED', `state of a replay: expected at most ${MOST_BYTES} bytes, got ${bytes}`)
}

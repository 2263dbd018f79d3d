import type { OffsetsStore } from '../../src/ports/store.ts'
import { newItem, newName, newToken } from '../../testing/contract/store/claims.ts'

/** A stream of which all below `next` is handled, and which is held since. */
export async function holdAt(
  store: OffsetsStore<unknown>,
  scope: string,
  stream: string,
  next: bigint,
  why: string,
): Promise<void> {
  const item = { ...newItem({ key: newName(), digest: '' }), position: { stream, offset: next - 1n } }
  const how = { scope, token: newToken(), leaseMs: 30_000, retentionMs: 60_000, alone: true }
  const [answer] = await store.claim({ ...how, items: [item] })
  if (answer === undefined || !('claim' in answer)) throw new Error('expected a claim')
  await store.mark([answer.claim])
  await store.positions.hold(scope, { stream, next }, why)
}

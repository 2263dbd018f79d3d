import { TERMS } from '../strategy.ts'
import { subjectOf } from '../truth/store-history.ts'
import type { ServerFault } from '../fault.ts'
import type { Scene } from './scene.ts'

/** The proxy holds the delivery or the claim meanwhile. */
export async function spoilRecord(
  { how }: Extract<ServerFault, { kind: 'spoil-record' }>,
  { context, recorder, worker }: Scene,
): Promise<void> {
  const { cell, stage, place, prefix, target } = context
  const { store } = TERMS[cell.strategy]
  if (store === 'lease on redis') await stage.redis.spoil(prefix, target.key, how)
  else if (store !== 'offsets') await stage.postgres.spoil(store, place.group, target.key)
  recorder.record('store', { f: 'store-loss', subject: subjectOf(context, target.id) })
  worker.release()
}

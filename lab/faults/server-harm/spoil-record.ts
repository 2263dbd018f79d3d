import type { Scene } from '../harm.ts'
import { TERMS } from '../strategy.ts'
import { subjectOf } from '../truth/told-by-store.ts'
import type { ServerHarm } from './server-harm.ts'

/** Delivery or claim wait meanwhile. */
export async function spoilRecord(
  { how }: Extract<ServerHarm, { kind: 'spoil-record' }>,
  { ground, recorder, worker }: Scene,
): Promise<void> {
  const { cell, stage, place, prefix, target } = ground
  const { store } = TERMS[cell.strategy]
  if (store === 'lease on redis') await stage.redis.spoil(prefix, target.key, how)
  else if (store !== 'offsets') await stage.postgres.spoil(store, place.group, target.key)
  recorder.record('store', { f: 'store-loss', subject: subjectOf(ground, target.id) })
  worker.release()
}

import { setTimeout as sleep } from 'node:timers/promises'
import type { Scene } from '../harm.ts'
import { TERMS } from '../strategy.ts'
import { portOf } from '../stage/own-servers.ts'
import { LEASE_MS } from '../worker/settings.ts'

/** Long enough for a client that hands over the same messages at once to do so very often. */
export async function bringStoreBack({ ground, worker, recorder }: Scene): Promise<void> {
  const { cell, stage } = ground
  recorder.record('store', { f: 'store-down' })
  await sleep(2 * LEASE_MS)
  const { url } = TERMS[cell.strategy].store === 'lease on redis' ? stage.redis : stage.postgres
  worker.toStore.leadTo(portOf(url))
}

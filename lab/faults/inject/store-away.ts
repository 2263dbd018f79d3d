import { setTimeout as sleep } from 'node:timers/promises'
import { TERMS } from '../strategy.ts'
import { portOf } from '../stage/own-servers.ts'
import { LEASE_MS } from '../settings.ts'
import type { Scene } from './scene.ts'

/** Long enough for a client that hands over the same messages in a tight loop to do so many times. */
export async function bringStoreBack({ context, worker, recorder }: Scene): Promise<void> {
  const { cell, stage } = context
  recorder.record('store', { f: 'store-down' })
  await sleep(2 * LEASE_MS)
  const { url } = TERMS[cell.strategy].store === 'lease on redis' ? stage.redis : stage.postgres
  worker.toStore.routeTo(portOf(url))
}

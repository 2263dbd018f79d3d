import { setTimeout as sleep } from 'node:timers/promises'
import { withRedis } from '../../../test/kit/servers/clients.ts'
import type { PrivateRedis } from '../../../test/kit/servers/private-redis.ts'
import { portOf } from '../stage/own-servers.ts'
import { LEASE_MS } from '../settings.ts'
import { replace } from './replace-worker.ts'
import type { WorkerAfterwards } from '../fault.ts'
import type { Scene } from './scene.ts'
import type { Moment } from '../moment.ts'

export async function freeze(scene: Scene): Promise<void> {
  const { primary } = ownOf(scene)
  primary.freeze()
  scene.recorder.record('redis', { f: 'store-down' })
  await sleep(2 * LEASE_MS)
  primary.thaw()
}

/** Kills Redis before anything else happens. The worker reaches it again once MONITOR is connected. */
export async function empty(then: WorkerAfterwards, scene: Scene): Promise<void> {
  const { primary } = ownOf(scene)
  const killed = primary.kill()
  scene.worker.toStore.routeTo(undefined)
  scene.recorder.record('redis', { f: 'store-loss' })
  await killed
  await primary.restart()
  await moveTo(primary, then, scene)
}

/** Flushes Redis before the bytes of the moment go on. */
export async function flush(then: WorkerAfterwards, scene: Scene): Promise<void> {
  await scene.context.stage.redis.flush()
  scene.recorder.record('redis', { f: 'store-loss' })
  scene.worker.release()
  await replace(then, scene)
}

/** Detaches the replica once it has all writes up to now. */
export async function leaveBehind(scene: Scene): Promise<void> {
  const { primary, replica } = ownOf(scene)
  const isThere = await withRedis(primary.url, (redis) => redis.wait(1, REPLICATED_WITHIN_MS))
  if (replica === undefined || isThere !== 1) throw new Error('there is no replica in step')
  await withRedis(replica.url, (redis) => redis.replicaof('NO', 'ONE'))
  scene.worker.release()
}

const REPLICATED_WITHIN_MS = 1_000

/** Promotes the replica, and records what it holds at that time. */
export async function promote(fault: WorkerAfterwards & { readonly lagsFrom?: Moment }, scene: Scene): Promise<void> {
  const { primary, replica } = ownOf(scene)
  if (replica === undefined) throw new Error('there is no replica')
  const killed = primary.kill()
  scene.worker.toStore.routeTo(undefined)
  scene.recorder.record('redis', { f: 'store-loss' })
  await killed
  await withRedis(replica.url, (redis) => redis.replicaof('NO', 'ONE'))
  if (fault.lagsFrom === undefined) await follow(primary, replica)
  await moveTo(replica, fault, scene)
}

/** The former primary comes back as a replica: stores whose marks wait for a replica need one. */
async function follow(former: PrivateRedis, { url, port }: PrivateRedis): Promise<void> {
  await former.restart()
  await withRedis(former.url, (redis) => redis.replicaof('127.0.0.1', port))
  const isInStep = (): Promise<number> => withRedis(url, (redis) => redis.wait(1, REPLICATED_WITHIN_MS))
  while ((await isInStep()) !== 1) await sleep(LOOK_EVERY_MS)
}

const LOOK_EVERY_MS = 20

async function moveTo(server: PrivateRedis, then: WorkerAfterwards, scene: Scene): Promise<void> {
  await scene.context.stage.redis.moveTo(server.url)
  scene.worker.toStore.routeTo(portOf(server.url))
  await replace(then, scene)
}

function ownOf({ context }: Scene): { readonly primary: PrivateRedis; readonly replica: PrivateRedis | undefined } {
  const { redis } = context.stage.own
  if (redis === undefined) throw new Error('this cell has no Redis of its own')
  return redis
}

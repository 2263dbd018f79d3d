import type { Scene } from '../harm.ts'
import type { OwnPostgres } from '../stage/own-postgres.ts'
import { portOf } from '../stage/own-servers.ts'
import { gatherMarks } from '../truth/gather.ts'
import { replace, type Then } from './then.ts'

export async function terminate({ ground, recorder, worker }: Scene): Promise<void> {
  recorder.record('postgres', { f: 'store-down' })
  await ground.stage.postgres.terminate(`${ground.prefix} ${worker.name}`)
  worker.release()
}

/** What it was about to do is over before anything else happens. */
export async function restart(scene: Scene): Promise<void> {
  const { primary } = ownOf(scene)
  for (const pid of primary.pids) process.kill(pid, 'SIGQUIT')
  scene.recorder.record('postgres', { f: 'store-down' })
  await primary.restart()
}

export async function leaveBehind(scene: Scene): Promise<void> {
  const { replica } = ownOf(scene)
  if (replica === undefined) throw new Error('there is no replica')
  await scene.ground.stage.postgres.leaveBehind(replica.url)
  scene.worker.release()
}

/** What was marked is read before it is gone: it was durable when the worker was told so. */
export async function promote(then: Then, scene: Scene): Promise<void> {
  const { ground, recorder, worker } = scene
  const { primary, replica } = ownOf(scene)
  if (replica === undefined) throw new Error('there is no replica')
  for (const { at, proc, ...mark } of await gatherMarks(ground)) recorder.record(proc, mark, at)
  const killed = primary.kill()
  worker.toStore.leadTo(undefined)
  recorder.record('postgres', { f: 'store-loss' })
  worker.release()
  await killed
  await ground.stage.postgres.promote(replica.url)
  worker.toStore.leadTo(portOf(replica.url))
  await replace(then, scene)
}

function ownOf({ ground }: Scene): OwnPostgres {
  const { postgres } = ground.stage.own
  if (postgres === undefined) throw new Error('this cell has no Postgres of its own')
  return postgres
}

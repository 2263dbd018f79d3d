import type { OwnPostgres } from '../stage/own-postgres.ts'
import { portOf } from '../stage/own-servers.ts'
import { gatherMarks } from '../truth/gather.ts'
import { replace } from './replace-worker.ts'
import type { WorkerAfterwards } from '../fault.ts'
import type { Scene } from './scene.ts'

export async function terminate({ context, recorder, worker }: Scene): Promise<void> {
  recorder.record('postgres', { f: 'store-down' })
  await context.stage.postgres.terminate(`${context.prefix} ${worker.name}`)
  worker.release()
}

/** SIGQUIT ends every statement before anything else happens. */
export async function restart(scene: Scene): Promise<void> {
  const { primary } = ownOf(scene)
  for (const pid of primary.pids) process.kill(pid, 'SIGQUIT')
  scene.recorder.record('postgres', { f: 'store-down' })
  await primary.restart()
}

export async function leaveBehind(scene: Scene): Promise<void> {
  const { replica } = ownOf(scene)
  if (replica === undefined) throw new Error('there is no replica')
  await scene.context.stage.postgres.leaveBehind(replica.url)
  scene.worker.release()
}

/** Records the marks before they are lost: they were durable when Postgres confirmed them. */
export async function promote(then: WorkerAfterwards, scene: Scene): Promise<void> {
  const { context, recorder, worker } = scene
  const { primary, replica } = ownOf(scene)
  if (replica === undefined) throw new Error('there is no replica')
  for (const { at, proc, ...mark } of await gatherMarks(context)) recorder.record(proc, mark, at)
  const killed = primary.kill()
  worker.toStore.routeTo(undefined)
  recorder.record('postgres', { f: 'store-loss' })
  worker.release()
  await killed
  await context.stage.postgres.promote(replica.url)
  worker.toStore.routeTo(portOf(replica.url))
  await replace(then, scene)
}

function ownOf({ context }: Scene): OwnPostgres {
  const { postgres } = context.stage.own
  if (postgres === undefined) throw new Error('this cell has no Postgres of its own')
  return postgres
}

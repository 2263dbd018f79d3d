import type { Action } from '../wire/proxy.ts'
import type { Scene } from './scene.ts'
import type { WorkerAfterwards } from '../fault.ts'
import type { Moment } from '../moment.ts'

/** Action for the bytes of the moment, `action` unless the worker is killed: it dies first, and its settle is lost with it. */
export function actionWith(
  { at, worker: then }: WorkerAfterwards & { readonly at: Moment },
  action: Action,
  { supervisor, worker }: Scene,
): Action {
  if (then === 'stays') return action
  supervisor.kill(worker)
  return at === 'settle sent' ? 'lose' : action
}

/** Starts the next worker, as a supervisor does. */
export async function replace({ worker: then }: WorkerAfterwards, { supervisor, worker }: Scene): Promise<void> {
  if (then === 'stays') return
  await worker.process.ended
  await supervisor.start()
}

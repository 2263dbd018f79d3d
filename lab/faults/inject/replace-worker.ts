import type { Action } from '../wire/proxy.ts'
import type { Scene } from './scene.ts'
import type { WorkerAfterwards } from '../fault.ts'
import type { Moment } from '../moment.ts'

/** Of the bytes of the moment, which would be `fate`: a worker that is killed dies first, and what it was about to settle with it. */
export function actionWith(
  { at, worker: then }: WorkerAfterwards & { readonly at: Moment },
  action: Action,
  { supervisor, worker }: Scene,
): Action {
  if (then === 'stays') return action
  supervisor.kill(worker)
  return at === 'settle sent' ? 'lose' : action
}

/** As a supervisor does. */
export async function replace({ worker: then }: WorkerAfterwards, { supervisor, worker }: Scene): Promise<void> {
  if (then === 'stays') return
  await worker.process.ended
  await supervisor.start()
}

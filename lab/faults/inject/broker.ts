import type { Scene } from './scene.ts'

/** To the worker it is gone with the bytes of the moment, and comes back when it has restarted. */
export async function restartBroker({ context, recorder, worker }: Scene): Promise<void> {
  const { stage, place } = context
  if (stage.own.broker === undefined) throw new Error('this cell has no broker of its own')
  recorder.record('broker', { f: 'broker-down' })
  worker.toBroker.routeTo(undefined)
  setImmediate(() => worker.toBroker.cut())
  await stage.own.broker.restart()
  worker.toBroker.routeTo(place.port)
}

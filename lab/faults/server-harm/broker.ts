import type { Scene } from '../harm.ts'

/** To the worker it is gone with the bytes of the moment, and comes back when it has restarted. */
export async function restartBroker({ ground, recorder, worker }: Scene): Promise<void> {
  const { stage, place } = ground
  if (stage.own.broker === undefined) throw new Error('this cell has no broker of its own')
  recorder.record('broker', { f: 'broker-down' })
  worker.toBroker.leadTo(undefined)
  setImmediate(() => worker.toBroker.cut())
  await stage.own.broker.restart()
  worker.toBroker.leadTo(place.port)
}

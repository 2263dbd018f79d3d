import type { Scene } from './scene.ts'

/** The worker loses its broker after the bytes of the moment, and reaches it again after the restart. */
export async function restartBroker({ context, recorder, worker }: Scene): Promise<void> {
  const { stage, place } = context
  if (stage.own.broker === undefined) throw new Error('this cell has no broker of its own')
  recorder.record('broker', { f: 'broker-down' })
  worker.toBroker.routeTo(undefined)
  setImmediate(() => worker.toBroker.cut())
  await stage.own.broker.restart()
  worker.toBroker.routeTo(place.port)
}

import { setTimeout as sleep } from 'node:timers/promises'
import type { Scene } from '../harm.ts'
import type { TopicHarms } from '../stage/broker-side.ts'

const NOTICED_WITHIN_MS = 10_000
/** So long nothing may be handled. */
const HELD_FOR_MS = 2_000
const DELETED = ['topic-missing', 'retry-topic']
const HELD = ['position-beyond-end', 'position-of-another-log', 'position-held']

export async function deleteBeside(scene: Scene): Promise<void> {
  await topicsOf(scene).deleteBeside(scene.ground.place)
  await untilTold(scene, DELETED, scene.worker.name)
}

export async function recreate(scene: Scene): Promise<void> {
  const { recorder, ground, worker } = scene
  const sent = recorder.events.filter(({ f }) => f === 'send').length
  await topicsOf(scene).recreate(ground.place, sent)
  await untilTold(scene, HELD, worker.name)
}

/** The new log is longer than the old one was, and nothing of it is handled, by this worker or the next, until a person says so. */
export async function holdThenRelease(scene: Scene): Promise<void> {
  const { crew, recorder, ground, worker } = scene
  const runs = (): number => recorder.events.filter(({ f }) => f === 'hstart').length
  const before = runs()
  await sleep(HELD_FOR_MS)
  crew.kill(worker)
  await worker.process.ended
  const next = await crew.start()
  await untilTold(scene, HELD, next.name)
  await sleep(HELD_FOR_MS)
  if (runs() > before)
    crew.breaches.push('messages of a topic that was created anew were handled before a person said so')
  const { group, origin } = ground.place
  const verdict = await ground.stage.postgres.releaseHold(group, `${origin}/0`)
  if (verdict !== 'released') crew.breaches.push(`the partition was not held any more: ${verdict}`)
}

async function untilTold({ recorder, crew }: Scene, names: readonly string[], proc: string): Promise<void> {
  const isTold = (): boolean =>
    recorder.has((event) => event.f === 'tell' && event.proc === proc && names.includes(event.what))
  await Promise.race([recorder.until(isTold), sleep(NOTICED_WITHIN_MS)])
  if (!isTold()) crew.breaches.push(`${proc} told none of ${names.join(', ')}`)
}

function topicsOf({ ground }: Scene): TopicHarms {
  const { topics } = ground.stage.broker(ground.cell.broker)
  if (topics === undefined) throw new Error(`${ground.cell.broker} has no topics`)
  return topics
}

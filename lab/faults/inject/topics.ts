import { setTimeout as sleep } from 'node:timers/promises'
import type { TopicFaults } from '../stage/broker-side.ts'
import type { Scene } from './scene.ts'

const NOTICED_WITHIN_MS = 10_000
/** Nothing may be handled for this long. */
const HELD_FOR_MS = 2_000
const DELETED = ['topic-missing', 'retry-topic']
const HELD = ['position-beyond-end', 'position-of-another-log', 'position-held']

export async function deleteBeside(scene: Scene): Promise<void> {
  await topicsOf(scene).deleteBeside(scene.context.place)
  await untilReported(scene, DELETED, scene.worker.name)
}

export async function recreate(scene: Scene): Promise<void> {
  const { recorder, context, worker } = scene
  const sent = recorder.events.filter(({ f }) => f === 'send').length
  await topicsOf(scene).recreate(context.place, sent)
  await untilReported(scene, HELD, worker.name)
}

/** The new log is longer than the old one. Neither this worker nor the next may handle any of it until a person releases it. */
export async function holdThenRelease(scene: Scene): Promise<void> {
  const { supervisor, recorder, context, worker } = scene
  const runs = (): number => recorder.events.filter(({ f }) => f === 'hstart').length
  const before = runs()
  await sleep(HELD_FOR_MS)
  supervisor.kill(worker)
  await worker.process.ended
  const next = await supervisor.start()
  await untilReported(scene, HELD, next.name)
  await sleep(HELD_FOR_MS)
  if (runs() > before)
    supervisor.breaches.push('messages of a topic that was created anew were handled before a person said so')
  const { group, origin } = context.place
  const verdict = await context.stage.postgres.releaseHold(group, `${origin}/0`)
  if (verdict !== 'released') supervisor.breaches.push(`the partition was not held any more: ${verdict}`)
}

async function untilReported({ recorder, supervisor }: Scene, names: readonly string[], proc: string): Promise<void> {
  const isReported = (): boolean =>
    recorder.has((event) => event.f === 'tell' && event.proc === proc && names.includes(event.what))
  await Promise.race([recorder.until(isReported), sleep(NOTICED_WITHIN_MS)])
  if (!isReported()) supervisor.breaches.push(`${proc} reported none of ${names.join(', ')}`)
}

function topicsOf({ context }: Scene): TopicFaults {
  const { topics } = context.stage.broker(context.cell.broker)
  if (topics === undefined) throw new Error(`${context.cell.broker} has no topics`)
  return topics
}

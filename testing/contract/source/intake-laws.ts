import { expect } from '../expect.ts'
import { always, driving, type Driven, eventually, Gate, timed } from './driven.ts'
import type { SourceHarness, SourceLaw } from './harness.ts'

/** More than a source may fetch at once. */
const MANY = 1_200
/** As many as handlers may run at once. */
const ROOM = 64

export const intakeLaws: readonly SourceLaw[] = [
  {
    name: 'takes only as much as there is room for, and the rest when there is room again',
    run: driving(async (harness, driven) => {
      const running = await harness.run(driven.consumer({ maxInFlight: ROOM }))
      const takesMs = await timed(() => handleMany(harness, driven, 'before'))
      const gate = new Gate()
      driven.handle = () => gate.opened
      await harness.publish(many('m'))
      await eventually('it has taken some', () => running.health().inFlight >= ROOM)
      // The time in which it has taken as many before, one after the other.
      await always('half of them stay with the broker', () => running.health().inFlight <= MANY / 2, takesMs)
      gate.open()
      await eventually('all settled', () => harness.isSettled(driven))
      expect(driven.effects).toHaveLength(2 * MANY)
    }),
  },
  {
    name: 'takes nothing while it is paused, and all of it after that',
    run: driving(async (harness, driven) => {
      const running = await harness.run(driven.consumer())
      const takesMs = await timed(() => handleMany(harness, driven, 'before'))
      await eventually('all settled', () => harness.isSettled(driven))
      running.pause()
      await harness.publish(many('m'))
      await always('nothing is taken', () => running.health().inFlight === 0, takesMs)
      running.resume()
      await eventually('all settled', () => harness.isSettled(driven))
      expect(driven.effects).toHaveLength(2 * MANY)
    }),
  },
]

async function handleMany(harness: SourceHarness, driven: Driven, prefix: string): Promise<void> {
  await harness.publish(many(prefix))
  await eventually('all are done', () => driven.effects.length === MANY)
}

function many(prefix: string): readonly string[] {
  return Array.from({ length: MANY }, (_, n) => `${prefix}${n}`)
}

import { NoEffectError } from '../../../src/foundation/errors.ts'
import { expect } from '../expect.ts'
import { always, driving, type Driven, eventually, Gate, timed } from './driven.ts'
import type { SourceHarness, SourceLaw } from './harness.ts'

const numbered = (prefix: string, length: number): readonly string[] =>
  Array.from({ length }, (_, n) => `${prefix}${n}`)

export const settleLaws: readonly SourceLaw[] = [
  {
    name: 'delivers again what was not settled when its consumer went, whatever finished above it',
    run: driving(async (harness, driven) => {
      driven.handle = ({ payload, signal }) => {
        if (payload !== 'late') return undefined
        return new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(new NoEffectError('not begun'))),
        )
      }
      const first = await harness.run(driven.consumer())
      const others = numbered('m', 20)
      await harness.publish(['late', ...others])
      await eventually('all others are done', () => driven.effects.length === others.length)
      // It flushes what it holds back, so whatever it would settle wrongly is settled now.
      await first.stop({ deadlineMs: 50 })
      expect(await harness.isSettled(driven)).toBe(false)

      driven.handle = () => {}
      await harness.run(driven.consumer())
      await eventually('all settled', () => harness.isSettled(driven))
      expect(driven.effects.toSorted()).toEqual(['late', ...others].toSorted())
    }),
  },
  {
    name: 'settles nothing past an unfinished message, whatever finished above it',
    run: driving(async (harness, driven) => {
      const slow = new Gate()
      driven.handle = ({ payload }) => (payload === 'm0' ? slow.opened : undefined)
      await harness.run(driven.consumer())
      const settlesMs = await settlingMs(harness, driven)
      const before = driven.effects.length
      const texts = numbered('m', 40)
      await harness.publish(texts)
      await eventually('all others are done', () => driven.effects.length === before + 39)
      await always('m0 is not settled', async () => !(await harness.isSettled(driven)), settlesMs)
      slow.open()
      await eventually('all settled', () => harness.isSettled(driven))
      expect(driven.effects.slice(before).toSorted()).toEqual(texts.toSorted())
    }),
  },
  {
    name: 'settles nothing while the store is down, says so, and resumes by itself',
    run: driving(async (harness, driven) => {
      const running = await harness.run(driven.consumer())
      const settlesMs = await settlingMs(harness, driven)
      const before = driven.effects.length
      driven.isStoreDown = true
      // One alone: it is either settled or not.
      await harness.publish(['m1'])
      await eventually('it noticed', () => driven.told('store-down'))
      expect(running.health()).toMatchObject({ live: true, ready: false })
      await always('nothing is settled', async () => !(await harness.isSettled(driven)), settlesMs)
      driven.isStoreDown = false
      await eventually('all settled', () => harness.isSettled(driven))
      expect(driven.effects.slice(before)).toEqual(['m1'])
      expect(running.health().ready).toBe(true)
    }),
  },
  {
    name: 'settles nothing when it is stopped while the store is down, and the next consumer handles it',
    run: driving(async (harness, driven) => {
      const running = await harness.run(driven.consumer())
      driven.isStoreDown = true
      await harness.publish(['m1'])
      await eventually('it noticed', () => driven.told('store-down'))
      await running.stop({ deadlineMs: 50 })
      expect(await harness.isSettled(driven)).toBe(false)
      driven.isStoreDown = false
      await harness.run(driven.consumer())
      await eventually('all settled', () => harness.isSettled(driven))
      expect(driven.effects).toEqual(['m1'])
    }),
  },
]

/**
 * A time in which the source settles for sure what it settles at all: twice what it took from publishing to the broker's
 * word that it is settled, for three messages together, one after the other. Whatever the source waits for is in it.
 */
export async function settlingMs(harness: SourceHarness, driven: Driven): Promise<number> {
  let sum = 0
  for (const text of ['warm-1', 'warm-2', 'warm-3']) {
    sum += await timed(async () => {
      await harness.publish([text])
      await eventually(`${text} is done`, () => driven.effects.includes(text))
      await eventually(`${text} is settled`, () => harness.isSettled(driven))
    })
  }
  return 2 * sum
}

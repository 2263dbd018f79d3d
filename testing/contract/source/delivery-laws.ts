import { expect } from '../expect.ts'
import { driving, eventually, Gate } from './driven.ts'
import type { SourceLaw } from './harness.ts'

export const deliveryLaws: readonly SourceLaw[] = [
  {
    name: 'delivers everything, handles each message once however often it was published, settles it and reports that',
    run: driving(async (harness, driven) => {
      await harness.run(driven.consumer())
      const texts = Array.from({ length: 200 }, (_, n) => `m${n % 150}`)
      await harness.publish(texts)
      await eventually('all settled', () => harness.isSettled(driven))
      expect(driven.effects.toSorted()).toEqual([...new Set(texts)].toSorted())
      await eventually('all settles are reported', () => driven.settled >= texts.length, 10_000)
      expect(driven.settled).toBe(texts.length)
    }),
  },
  {
    name: 'handles messages of one ordering key in the order they were published, other keys beside them',
    run: driving(async (harness, driven) => {
      const slow = new Gate()
      let first: string | undefined
      // Whichever key comes first waits, else one lane for both would not show.
      driven.handle = ({ payload }) => {
        first ??= payload
        return payload === first ? slow.opened : undefined
      }
      await harness.run(driven.consumer())
      await harness.publish(['a/1', 'a/2', 'b/1', 'a/3', 'b/2'])
      const ofKey = { a: ['a/1', 'a/2', 'a/3'], b: ['b/1', 'b/2'] }
      await eventually('the other key is done', () => driven.effects.length >= (first === 'b/1' ? 3 : 2))
      const [slower, other] = first === 'b/1' ? (['b', 'a'] as const) : (['a', 'b'] as const)
      expect(driven.effects).toEqual(ofKey[other])
      slow.open()
      await eventually('all settled', () => harness.isSettled(driven))
      expect(driven.effects.slice(ofKey[other].length)).toEqual(ofKey[slower])
    }),
  },
  {
    name: 'tries a message again whose handler failed, while others go on',
    run: driving(async (harness, driven) => {
      driven.handle = ({ payload, attempt }) => {
        if (payload === 'shaky' && attempt < 3) throw new TypeError(`attempt ${attempt}`)
      }
      const running = await harness.run(driven.consumer())
      await harness.publish(['before', 'shaky', 'after'])
      await eventually('all settled', () => harness.isSettled(driven))
      expect(driven.effects.toSorted()).toEqual(['after', 'before', 'shaky'])
      expect(driven.started.filter((text) => text === 'shaky')).toHaveLength(3)
      expect(await harness.deadLetters()).toEqual([])
      expect(running.health()).toMatchObject({ live: true, state: 'running' })
    }),
  },
]

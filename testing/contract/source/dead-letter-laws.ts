import { expect } from '../expect.ts'
import { always, driving, eventually } from './driven.ts'
import type { SourceHarness, SourceLaw } from './harness.ts'
import { settlingMs } from './settle-laws.ts'

const POISON = ({ payload }: { readonly payload: string }): void => {
  if (payload.endsWith('poison')) throw new Error('always')
}

export const deadLetterLaws: readonly SourceLaw[] = [
  {
    name: 'moves a message that always fails to the dead-letter place, once, with its headers, and goes on',
    run: driving(async (harness, driven) => {
      driven.handle = POISON
      await harness.run(driven.consumer())
      await harness.publish(['one', 'poison', 'two'])
      await eventually('all settled', () => harness.isSettled(driven))
      expect(driven.effects.toSorted()).toEqual(['one', 'two'])
      expect(driven.started.filter((text) => text === 'poison')).toHaveLength(3)
      expect(await harness.deadLetters()).toMatchObject([{ text: 'poison', reason: 'attempts-spent', id: 'poison' }])
    }),
  },
  {
    name: 'keeps the ordering key in the dead-letter place',
    needs: 'keys',
    run: driving(async (harness, driven) => {
      driven.handle = POISON
      await harness.run(driven.consumer())
      await harness.publish(['k/one', 'k/poison', 'k/two'])
      await eventually('all settled', () => harness.isSettled(driven))
      expect(driven.effects).toEqual(['k/one', 'k/two'])
      expect(await harness.deadLetters()).toMatchObject([{ text: 'k/poison', key: 'k' }])
    }),
  },
  {
    name: 'settles a message that was given up only when the broker has confirmed its dead letter',
    needs: 'refused-copies',
    run: driving(async (harness, driven) => {
      const first = await harness.run(driven.consumer())
      const settlesMs = await settlingMs(harness, driven)
      driven.handle = POISON
      const accept = await refusing(harness)
      await harness.publish(['poison', 'good', 'better'])
      await eventually('it is given up', () => driven.started.filter((text) => text === 'poison').length === 3)
      await eventually(
        'the others are done',
        () => driven.effects.includes('good') && driven.effects.includes('better'),
      )
      await always('poison is not settled', async () => !(await harness.isSettled(driven)), settlesMs)
      await first.stop({ deadlineMs: 50 })
      expect(await harness.isSettled(driven)).toBe(false)

      await accept()
      await harness.run(driven.consumer())
      await eventually('all settled', () => harness.isSettled(driven))
      expect(driven.started.filter((text) => text === 'poison')).toHaveLength(3)
      // A copy whose confirm was lost may be there beside the one that was confirmed.
      const texts = (await harness.deadLetters()).map(({ text }) => text)
      expect([...new Set(texts)]).toEqual(['poison'])
    }),
  },
]

function refusing({ refuseCopies }: SourceHarness): Promise<() => Promise<void>> {
  if (refuseCopies === undefined) {
    throw new TypeError('the harness has no refuseCopies(): write it, or say by lacks: { "refused-copies": why }')
  }
  return refuseCopies()
}

import { afterEach, describe, expect, it, jest } from '@jest/globals'
import type { Ending } from '../../../../src/pipeline/ending.ts'
import { Evidence } from '../../../../src/pipeline/evidence.ts'
import { Pipeline } from '../../../../src/pipeline/pipeline.ts'
import { endRigs, startRig, type Rig } from '../../../kit/rig.ts'

afterEach(endRigs)

const FORGED: readonly (readonly [string, unknown])[] = [
  ['nothing', undefined],
  ['null', null],
  ['a word', 'mark'],
  ['a look-alike', Object.create(Evidence.prototype)],
]

/** The next task to be settled is settled with this in place of its evidence: a bug that the types did not see. */
function forge(evidence: unknown): void {
  const end = jest.spyOn(Pipeline.prototype, 'end')
  end.mockImplementationOnce(function forged(this: Pipeline, task, ending) {
    end.mockRestore()
    this.end(task, { ...ending, evidence: evidence as Evidence } as Ending)
  })
}

function broken({ events }: Rig): unknown[] {
  return events.flatMap((event) => (event.type === 'invariant-broken' ? [event.error] : []))
}

describe('a settle without evidence', () => {
  it.each(FORGED)(
    'is refused (%s), told, and makes health not live: a restart brings the message again',
    async (_, forged) => {
      const rig = await startRig({ effect: (work) => work.apply() })
      forge(forged)
      const [delivery] = await rig.deliver('a')
      expect(delivery?.settled).toBe(0)
      expect(rig.outcomes()).toEqual(['handed-back'])
      expect(broken(rig)).toEqual([expect.objectContaining({ code: 'INVARIANT_BROKEN' })])
      expect(rig.running.health().live).toBe(false)
    },
  )

  it('leaves the others alone, and its redelivery is a duplicate', async () => {
    const rig = await startRig({ effect: (work) => work.apply() })
    forge(undefined)
    await rig.deliver('a')
    const deliveries = await rig.deliver('a', 'b')
    expect(deliveries.map(({ settled }) => settled)).toEqual([1, 1])
    expect(rig.outcomes()).toEqual(['handed-back', 'duplicate', 'handled'])
    expect(rig.world.effects).toEqual(['a', 'b'])
  })
})

describe('evidence', () => {
  it('is none of a mark that was refused', () => {
    expect(
      [undefined, 'refused-busy', 'refused-done'].map((verdict) => Evidence.ofMark(verdict as 'refused-busy')),
    ).toEqual([undefined, undefined, undefined])
  })

  it('is none of a copy that was not confirmed', async () => {
    await expect(Evidence.ofCopy(Promise.reject(new Error('nacked')))).rejects.toThrow('nacked')
  })

  it('is shared: none is made for a message', () => {
    expect(Evidence.ofMark('marked')).toBe(Evidence.ofMark('already-marked'))
  })
})

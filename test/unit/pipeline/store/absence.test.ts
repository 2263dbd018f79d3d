import { afterEach, describe, expect, it } from '@jest/globals'
import { StoreLine } from '../../../../src/execution/store-line.ts'
import { ManualClock } from '../../../kit/manual-clock.ts'
import { endRigs, Rig, steadyEntropy, STYLES, World, type RigOptions, type Style } from '../../../kit/rig.ts'

afterEach(endRigs)

const LEASE: Style = { strategy: 'lease', handler: 'handle' }

interface Leaves {
  readonly leaveAfterMs: number | 'never' | undefined
}

async function startMember(options: RigOptions, { leaveAfterMs }: Leaves = { leaveAfterMs: 60_000 }): Promise<Rig> {
  const rig = new Rig(new World(), options.style ?? LEASE)
  rig.source.leaveAfterMs = leaveAfterMs
  await rig.start(options)
  return rig
}

const moves = (rig: Rig): readonly string[] => rig.source.calls.filter((call) => /^(leave|comeBack)/.test(call))
const LEFT = expect.stringMatching(/^leave: the store has been down for 1 min/)

describe('a member of a group', () => {
  it.each(STYLES)(
    'leaves when its store has been down for long, and comes back with the first answer ($strategy, $handler)',
    async (style) => {
      const rig = await startMember({ style, effect: (work) => work.apply() })
      rig.store.isDown = true
      const [delivery] = await rig.deliver('a')
      await rig.clock.advance(59_999)
      expect(moves(rig)).toEqual([])
      await rig.clock.advance(1)
      expect(moves(rig)).toEqual([LEFT])
      if (delivery !== undefined) rig.source.stand('lost', delivery)
      // However long it lasts.
      await rig.clock.advance(3_600_000)
      expect(moves(rig)).toEqual([LEFT])
      rig.store.isDown = false
      await rig.clock.advance(2_000)
      expect(moves(rig)).toEqual([LEFT, 'comeBack'])
      // What it had when it left is given up, without a handler.
      expect(rig.started).toEqual([])
      await rig.deliver('b')
      expect(rig.outcomes()).toEqual(['handed-back', 'handled'])
    },
  )

  it('stays when the store answers before that, and counts each outage from its own beginning', async () => {
    const rig = await startMember({ effect: (work) => work.apply() })
    for (let outage = 1; outage <= 3; outage++) {
      rig.store.isDown = true
      await rig.deliver(`id-${outage}`)
      await rig.clock.advance(50_000)
      rig.store.isDown = false
      await rig.clock.advance(2_000)
    }
    expect(moves(rig)).toEqual([])
    expect(rig.outcomes()).toEqual(['handled', 'handled', 'handled'])
  })

  it.each<readonly [string, Partial<RigOptions>, Leaves]>([
    ['it may run without its store', { onStoreDown: 'run-unprotected' }, { leaveAfterMs: 60_000 }],
    ['it only observes', { mode: 'observe' }, { leaveAfterMs: 60_000 }],
    ['its source cannot leave', {}, { leaveAfterMs: undefined }],
    ['its source shall not leave', {}, { leaveAfterMs: 'never' }],
  ])('stays when %s', async (_, settings, leaves) => {
    const rig = await startMember({ ...settings, effect: (work) => work.apply() }, leaves)
    rig.store.isDown = true
    await rig.deliver('a')
    await rig.clock.advance(600_000)
    expect(moves(rig)).toEqual([])
  })

  it('does not leave any more once it is stopped', async () => {
    const rig = await startMember({ effect: (work) => work.apply() })
    rig.store.isDown = true
    await rig.deliver('a')
    await rig.clock.advance(50_000)
    const stopping = rig.running.stop({ deadlineMs: 30_000 })
    await rig.clock.advance(60_000)
    await stopping
    expect(moves(rig)).toEqual([])
  })
})

describe('a call of the store that its caller repeats', () => {
  it('shows that the store is down, and is asked again until it is back, even if its caller gives up', async () => {
    const clock = new ManualClock()
    const told: string[] = []
    const line = new StoreLine(clock, steadyEntropy(), {
      onReachable: () => undefined,
      onDown: () => void told.push('down'),
      onUp: () => void told.push('up'),
      onCall: () => {},
    })
    let isDown = true
    let calls = 0
    const call = async (): Promise<string> => {
      calls++
      if (isDown) throw new Error('no answer')
      return 'answer'
    }
    await expect(line.watch('positions', call)).rejects.toThrow('no answer')
    await expect(line.watch('positions', call)).rejects.toThrow('no answer')
    await clock.advance(60_000)
    expect([line.isDown, ...told]).toEqual([true, 'down'])
    expect(calls).toBeGreaterThan(30)
    isDown = false
    await clock.advance(2_000)
    expect([line.isDown, ...told]).toEqual([false, 'down', 'up'])
    await expect(line.watch('positions', call)).resolves.toBe('answer')
  })
})

import { describe, expect, it } from '@jest/globals'
import { Chaos } from '../support/chaos.ts'
import { STYLES } from '../support/rig.ts'

/** `SEED=17 npx jest test/pipeline/chaos` plays one again, `SEEDS=10000` plays as many. */
const { SEED, SEEDS = '75' } = process.env
const seeds = SEED === undefined ? Array.from({ length: Number(SEEDS) }, (_, index) => index + 1) : [Number(SEED)]
const STEPS = 30

describe.each(STYLES)('chaos ($strategy, $handler)', (style) => {
  it('loses nothing, doubles nothing that was never in doubt, keeps order, and ends each delivery once', async () => {
    const found: string[] = []
    for (const seed of seeds) {
      const chaos = new Chaos(seed, style)
      await chaos.start()
      for (let step = 0; step < STEPS; step++) await chaos.step()
      if (!(await chaos.heal())) chaos.violations.push('not drained two minutes after all faults ended')
      for (const process of chaos.processes) await process.stop()
      chaos.check()
      found.push(...chaos.violations.map((violation) => `seed ${seed}: ${violation}`))
    }
    expect(found).toEqual([])
  })
})

import { describe, expect, it } from '@jest/globals'
import { turns } from '../../kit/manual-clock.ts'
import { ENTRIES, World, type Told } from './entries.ts'
import { oneCall, SITUATIONS } from './situations.ts'

const CELLS = SITUATIONS.flatMap((situation) =>
  ENTRIES.flatMap((entry) => [
    { strategy: 'lease' as const, situation, entry, record: situation.record },
    {
      strategy: 'inbox' as const,
      situation,
      entry,
      record: 'onInbox' in situation ? situation.onInbox : situation.record,
    },
  ]),
).filter(({ record }) => record !== undefined)

describe('a function under a claim', () => {
  it.each(CELLS.map((cell) => [cell.situation.name, cell.entry.name, cell.strategy, cell] as const))(
    'ends alike everywhere when %s: %s, %s',
    async (_situation, _entry, strategy, { situation, entry: used, record }) => {
      const { before, work = () => {}, steps = oneCall, runs, told } = situation
      const world = new World(strategy, situation)
      before?.(world)
      const entry = await used.open(world, (signal) => {
        world.runs++
        return work({
          world,
          get signal() {
            return signal()
          },
        })
      })
      const calls: (() => Told)[] = []
      await steps(world, (payload = 'a') => void calls.push(entry(payload)))
      await turns()
      const now = calls.map((look) => look())
      expect({ runs: world.runs, record: world.state, told: now }).toEqual({ runs, record, told: told ?? now })
    },
  )
})

import { describe, expect, it, jest } from '@jest/globals'
import { BROKERS, STORES } from '../../cli/init/clients.ts'
import { pairsOf, VARIANTS } from '../../test/kit/init/project.ts'
import { runsOnServers } from '../../test/kit/init/run.ts'

jest.setTimeout(300_000)

describe('what init writes runs on real servers', () => {
  // Each broker and each store is written in each way.
  const cases = pairsOf(BROKERS, STORES).map(
    ([broker, store], at) =>
      [broker.name, store.name, VARIANTS[(at + Math.floor(at / 4)) % 4] ?? 'ts', broker, store] as const,
  )
  it.each(cases)('%s and %s, in %s', async (_broker, _store, variant, broker, store) => {
    await expect(runsOnServers(broker, store, variant)).resolves.toBeUndefined()
  })
})

import { expect, it } from '@jest/globals'
import { allSuites } from '../../../bench/catalogue.ts'

it('every ratio and bound of every scenario is of contenders that it has, each under a name of its own', async () => {
  for (const { scenarios } of await allSuites()) {
    expect(new Set(scenarios.map(({ name }) => name)).size).toBe(scenarios.length)
    for (const { contenders, ratios, bounds = [] } of scenarios) {
      const names = contenders.map(({ name }) => name)
      expect(new Set(names).size).toBe(names.length)
      expect(names).toEqual(expect.arrayContaining(ratios.flatMap(({ of, to }) => [of, to])))
      expect(names).toEqual(
        expect.arrayContaining(
          bounds.flatMap(({ of, timesThatOf = of, aboveThatOf = of }) => [of, timesThatOf, aboveThatOf]),
        ),
      )
    }
  }
})

it('what a kill costs is measured five times', async () => {
  const crash = (await allSuites()).find(({ name }) => name === 'crash')
  expect(crash?.scenarios.map(({ repetitions }) => repetitions)).toEqual([5, 5, 5, 5])
})

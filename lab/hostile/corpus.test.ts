import { describe, expect, it } from '@jest/globals'
import { CONFIGURATIONS } from './configuration.ts'
import { CORPUS, entriesOn } from './corpus.ts'
import { effectNamed } from './effects.ts'
import { CARRIERS } from './entry.ts'
import { extractorNamed } from './extractors.ts'
import { planFor } from './plan.ts'

const entries = Object.values(CORPUS).flat()

describe('the corpus', () => {
  it('has at least 300 inputs for each way that messages come, each with a name of its own', () => {
    for (const carrier of CARRIERS) expect(entriesOn(carrier).length).toBeGreaterThanOrEqual(300)
    expect(new Set(entries.map(({ name }) => name)).size).toBe(entries.length)
  })

  it('names extractors and effects that there are, and first messages before those that are the same', () => {
    for (const { id = 'header', effect = 'apply', messages } of entries) {
      expect([extractorNamed(id), effectNamed(effect)]).toEqual([expect.any(Function), expect.any(Function)])
      const firsts = messages.map(({ must }, index) => (typeof must === 'object' ? must.same : index))
      expect(
        firsts.filter((first, index) => first > index || (first < index && messages[first]?.must !== 'run')),
      ).toEqual([])
    }
  })

  it('has configurations with names of their own', () => {
    const names = CONFIGURATIONS.map(({ target, name }) => `${target}: ${name}`)
    expect(new Set(names).size).toBe(names.length)
  })

  it.each(CARRIERS)('sends a neighbour after each input on %s', (carrier) => {
    const plan = planFor(carrier)
    expect(plan.filter(({ entry }) => entry === undefined)).toHaveLength(entriesOn(carrier).length)
  })
})

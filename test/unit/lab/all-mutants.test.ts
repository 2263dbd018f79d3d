import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { ALL_MUTANTS } from '../../../lab/mutants/all-mutants.ts'
import { killingTestOf } from '../../../lab/mutation-testing/killing-test.ts'
import { markedPlaces, planted, withoutMarkers } from '../../../lab/mutants/planted.ts'

describe.each(ALL_MUTANTS)('the mutant $name', (mutant) => {
  it('finds each of its places once, and leaves code that parses', () => {
    expect(planted(mutant).size).toBeGreaterThan(0)
  })

  if (mutant.layer !== 'simulator') {
    it('names a test file that exists', () => {
      expect(existsSync(killingTestOf(mutant).file)).toBe(true)
    })
  }
})

it('no two mutants have one name', () => {
  expect(new Set(ALL_MUTANTS.map(({ name }) => name)).size).toBe(ALL_MUTANTS.length)
})

it('every marker in the source is that of a mutant', () => {
  const labels = ALL_MUTANTS.flatMap(({ name, changes }) =>
    changes.map((_, index) => (index === 0 ? name : `${name} ${index + 1}`)),
  )
  expect([...markedPlaces().keys()].filter((label) => !labels.includes(label))).toEqual([])
})

it('what is published has no markers, and is the same code', () => {
  const marked = 'a() // mutant: one, two\n  // mutant: three\n  b()\nlocal x = 1 -- mutant: four\n'
  expect(withoutMarkers(marked)).toBe('a()\n  b()\nlocal x = 1\n')
  for (const { file } of [...markedPlaces().values()].flat())
    expect(withoutMarkers(readFileSync(file, 'utf8'))).not.toContain(' mutant: ')
})

import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { ALL_MUTANTS } from '../../../lab/mutants/all-mutants.ts'
import { killingTestOf } from '../../../lab/mutants/killing-test.ts'
import { patched } from '../../../lab/mutants/mutant.ts'

describe.each(ALL_MUTANTS)('the mutant $name', (mutant) => {
  it.each([...new Set(mutant.patches.map(({ file }) => file))])('still finds its places in %s', (file) => {
    const text = readFileSync(file, 'utf8')
    expect(patched(file, text, mutant.patches)).not.toBe(text)
  })

  if (mutant.layer !== 'simulator') {
    it('names a test that exists', () => {
      expect(existsSync(killingTestOf(mutant).file)).toBe(true)
    })
  }
})

it('no two mutants have one name', () => {
  expect(new Set(ALL_MUTANTS.map(({ name }) => name)).size).toBe(ALL_MUTANTS.length)
})

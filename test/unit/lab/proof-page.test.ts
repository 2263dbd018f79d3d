import { describe, expect, it } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { proofPage } from '../../../lab/proof/page.ts'
import { recordedParts } from '../../../lab/proof/part.ts'

describe('docs/proof.md', () => {
  it('is what the recorded runs say: npm run fix', () => {
    expect(readFileSync('docs/proof.md', 'utf8')).toBe(proofPage(recordedParts()))
  })
})

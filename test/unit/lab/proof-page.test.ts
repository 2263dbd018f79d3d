import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { PROOF_FOLDER, PROOF_PAGE, proofPages } from '../../../lab/proof/page.ts'
import { recordedParts } from '../../../lab/proof/part.ts'

const pages = proofPages(recordedParts())

describe('the pages of the proof', () => {
  it.each([...pages.keys()])('%s is what the recorded runs say: npm run fix', (path) => {
    expect(readFileSync(path, 'utf8')).toBe(pages.get(path))
  })

  it('are all that is there', () => {
    const tables = readdirSync(PROOF_FOLDER).filter((name) => name.endsWith('.md'))
    expect(tables.map((name) => `${PROOF_FOLDER}/${name}`).toSorted()).toEqual(
      [...pages.keys()].filter((path) => path !== PROOF_PAGE).toSorted(),
    )
  })
})

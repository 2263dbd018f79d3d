import { readFileSync } from 'node:fs'
import { expect, it } from '@jest/globals'
import { PROTOCOL_PAGE, withDiagrams } from '../../kit/protocol-page.ts'

it('the diagrams are those of transition() and afterClaim(); `npm run fix` draws them', () => {
  const page = readFileSync(PROTOCOL_PAGE, 'utf8')
  expect(page).toBe(withDiagrams(page))
  expect(page).toContain('absent --> processing: claim')
  expect(page).toContain('done([done]) --> settle-duplicate[settle as duplicate]')
})

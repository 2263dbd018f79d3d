import { readFileSync } from 'node:fs'
import { expect, it } from '@jest/globals'
import { PROTOCOL_PAGE, withDiagram } from '../../kit/protocol-page.ts'

it('the diagram of record states is that of transition(); `npm run fix` draws it', () => {
  const page = readFileSync(PROTOCOL_PAGE, 'utf8')
  expect(page).toBe(withDiagram(page))
  expect(page).toContain('absent --> processing: claim')
})

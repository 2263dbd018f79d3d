import { readFileSync, writeFileSync } from 'node:fs'
import { GUARANTEE_PAGE, withGuaranteeTables } from './guarantee-section.ts'
import { proofPages } from './page.ts'
import { recordedParts } from './part.ts'

// Part of `npm run fix`.
for (const [path, text] of proofPages(recordedParts())) writeFileSync(path, text)
writeFileSync(GUARANTEE_PAGE, withGuaranteeTables(readFileSync(GUARANTEE_PAGE, 'utf8')))

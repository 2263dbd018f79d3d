import { writeFileSync } from 'node:fs'
import { proofPages } from './page.ts'
import { recordedParts } from './part.ts'

// Part of `npm run fix`.
for (const [path, text] of proofPages(recordedParts())) writeFileSync(path, text)

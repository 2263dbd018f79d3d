import { writeFileSync } from 'node:fs'
import { proofPage } from './page.ts'
import { recordedParts } from './part.ts'

// Part of `npm run fix`.
writeFileSync('docs/proof.md', proofPage(recordedParts()))

import { readFileSync, writeFileSync } from 'node:fs'
import { PAGES, withExamples } from './readme.ts'

// Part of `npm run fix`: writes the examples into the pages that show them.
for (const page of PAGES) writeFileSync(page, withExamples(readFileSync(page, 'utf8')))

import { readFileSync, writeFileSync } from 'node:fs'
import { OBSERVABILITY_PAGE, withTables } from './observability-page.ts'
import { PROTOCOL_PAGE, withDiagrams } from './protocol-page.ts'
import { PAGES, withExamples } from './readme.ts'

// Part of `npm run fix`: writes the examples into the pages that show them.
for (const page of PAGES) writeFileSync(page, withExamples(readFileSync(page, 'utf8')))

// Its tables are those of the code and of the alert rules.
writeFileSync(OBSERVABILITY_PAGE, withTables(readFileSync(OBSERVABILITY_PAGE, 'utf8')))

// Its diagram is drawn from transition().
writeFileSync(PROTOCOL_PAGE, withDiagrams(readFileSync(PROTOCOL_PAGE, 'utf8')))

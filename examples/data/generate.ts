/** Writes `sms-notifications.ndjson`, the same bytes on every run: `npx tsx examples/data/generate.ts`. */
import { writeFileSync } from 'node:fs'
import { exampleData } from '../../cli/demo/example-data.ts'

writeFileSync(new URL('sms-notifications.ndjson', import.meta.url), exampleData())

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CorpusRun } from './run-corpus.ts'

/** The folder where `npm run hostile` collects what the tests have counted; unset, nobody does. */
export const TALLIES = 'CONSUME_ONCE_HOSTILE_TALLIES'

/** What one combination of broker and store counted. */
export type Tally = CorpusRun & { readonly name: string }

export function tell(tally: Tally): void {
  const folder = process.env[TALLIES]
  if (folder === undefined) return
  writeFileSync(join(folder, `${tally.name.replaceAll(/[^\w]+/gu, '-')}.json`), JSON.stringify(tally))
}

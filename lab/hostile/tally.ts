import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CorpusRun } from './run-corpus.ts'

/** The folder in which `npm run hostile` collects the counts of the tests; unset: not collected. */
export const TALLIES = 'CONSUME_ONCE_HOSTILE_TALLIES'

/** Counts of one combination of broker and store. */
export type Tally = CorpusRun & { readonly name: string }

export function tell(tally: Tally): void {
  const folder = process.env[TALLIES]
  if (folder === undefined) return
  writeFileSync(join(folder, `${tally.name.replaceAll(/[^\w]+/gu, '-')}.json`), JSON.stringify(tally))
}

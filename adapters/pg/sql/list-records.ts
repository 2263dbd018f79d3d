import { RECORD, type RecordRow } from './read-records.ts'
import type { Statement } from './statement.ts'
import type { Tables } from './tables.ts'

interface Listing {
  readonly scope: number
  readonly outcome: 'd' | 'g' | 'p'
  /** In hex; empty is before the first. */
  readonly after: string
  readonly limit: number
}

/** In the order of keys. Locks nothing. What was set aside has an index of its own, which the condition names. */
export function listRecords({ inbox }: Tables, { scope, outcome, after, limit }: Listing): Statement<RecordRow> {
  const isAside = outcome === 'd' ? '' : ` and outcome <> 'd'`
  return {
    text: `select ${RECORD} from ${inbox}
where scope = $1 and key > decode($2, 'hex') and outcome = '${outcome}'${isAside} order by ${inbox}.key limit $3`,
    values: [scope, after, limit],
  }
}

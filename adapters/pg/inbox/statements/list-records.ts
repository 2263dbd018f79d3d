import type { RecordRow } from '../../../sql/inbox/statements.ts'
import { IS_TORN, RECORD, tornOf } from './read-records.ts'
import type { Statement } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'

interface Listing {
  readonly scope: number
  readonly outcome: 'd' | 'g' | 'p'
  /** In hex; empty for the first page. */
  readonly after: string
  readonly limit: number
}

/**
 * In the order of keys. Locks nothing. Records that were set aside have an index of their own, which the condition
 * names. Torn records are found through their attempts, which are few.
 */
export function listRecords(tables: Tables, { scope, outcome, after, limit }: Listing): Statement<RecordRow> {
  const { inbox, attempt } = tables
  const listed = (which: string): string => `select ${RECORD} from ${inbox} i ${tornOf(tables)}
where i.scope = $1 and i.key > decode($2, 'hex') and ${which} order by i.key limit $3`
  const values = [scope, after, limit]
  switch (outcome) {
    case 'd':
      return { text: listed(`i.outcome = 'd' and not ${IS_TORN}`), values }
    case 'g':
      return { text: listed(`i.outcome = 'g' and i.outcome <> 'd'`), values }
    case 'p': {
      const torn = `i.outcome = 'd' and i.key in (select key from ${attempt} where scope = $1)`
      const either = `(${listed(`i.outcome = 'p' and i.outcome <> 'd'`)}) union all (${listed(torn)})`
      return { text: `select * from (${either}) as listed order by key limit $3`, values }
    }
  }
}

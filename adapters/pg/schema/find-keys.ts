import type { MissingKey } from '../../sql/schema/keys.ts'
import type { Statement } from '../statements/statement.ts'
import type { Tables } from '../statements/tables.ts'

/**
 * Locks nothing; a row for each key without a suitable unique index. An index that is invalid, deferred, or has fewer
 * or more columns does not count.
 */
export function findMissingKeys({ schema }: Tables): Statement<MissingKey> {
  return {
    text: `
select name, array_to_string(columns, ', ') as columns, place is not null as "isThere"
from (values ('scope', array['id']), ('scope', array['name']), ('inbox', array['key', 'scope']), ('attempt', array['key', 'scope']),
  ('claim', array['scope', 'token']),  ('lease', array['key', 'scope']), ('position', array['scope', 'stream']),
  ('begun', array['scope', 'stream']), ('replay', array['id', 'scope']),
  ('outbox', array['id'])) as wanted (name, columns),
  lateral (select to_regclass($1 || '.' || name) as place) as found
where not exists (
  select 1 from pg_index i
  where i.indrelid = place and i.indisunique and i.indisvalid and i.indisready and i.indimmediate
    and i.indpred is null and i.indexprs is null
    and columns = (select array_agg(a.attname::text order by a.attname) from pg_attribute a
      where a.attrelid = place and a.attnum = any ((i.indkey::int2[])[0:i.indnkeyatts - 1]))
)`,
    values: [`"${schema}"`],
  }
}

import type { Statement } from '../statements/statement.ts'
import type { Tables } from '../statements/tables.ts'

export interface PartitionsRow {
  readonly partitions: number
}

/** Locks nothing; one row. */
export function countInboxPartitions({ inbox }: Tables): Statement<PartitionsRow> {
  return {
    text: 'select count(*)::int as partitions from pg_inherits where inhparent = to_regclass($1)',
    values: [inbox],
  }
}

/**
 * A description of one object in a schema. It equals that of the same object in another schema, except for the schema's
 * name.
 */
export interface ThingRow {
  readonly thing: string
}

/**
 * Locks nothing; a row for each column, constraint, index and partition, and for each table with settings of its own.
 */
export function describeSchema(schema: string): Statement<ThingRow> {
  return {
    text: `
with tables as (select oid, relname, reloptions, relpartbound from pg_class where relnamespace = to_regnamespace($1) and relkind in ('r', 'p'))
select 'column ' || t.relname || '.' || a.attname || ': ' || format_type(a.atttypid, a.atttypmod)
  || case when a.attnotnull then ' not null' else '' end
  || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') as thing
from tables t join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
left join pg_attrdef d on d.adrelid = t.oid and d.adnum = a.attnum
union all
select 'constraint on ' || t.relname || ': ' || pg_get_constraintdef(c.oid)
from tables t join pg_constraint c on c.conrelid = t.oid where c.contype in ('p', 'u', 'c', 'f')
union all
select 'index: ' || pg_get_indexdef(i.indexrelid) || case when i.indisvalid then '' else ' (not valid)' end
from tables t join pg_index i on i.indrelid = t.oid
union all
select 'settings of ' || relname || ': ' || array_to_string(reloptions, ', ') from tables where reloptions is not null
union all
select 'partition ' || relname || ': ' || pg_get_expr(relpartbound, oid) from tables where relpartbound is not null
order by 1`,
    values: [`"${schema}"`],
  }
}

import type { Statement } from './statement.ts'
import { DURABLY } from './transaction.ts'

export interface FlushRow {
  /** Never the same again: its process, and when that began. */
  readonly backend: string
}

const BACKEND = `concat_ws(' ', a.pid, a.backend_start) as backend from pg_stat_get_activity(pg_backend_pid()) a`

/** Locks nothing; one row. */
export const WHO_FLUSHES: Statement<FlushRow> = { text: `select ${BACKEND}`, values: [] }

/**
 * Committed by itself, when all that was committed before it was sent is on disk, and where a synchronous standby is asked
 * for. A commit that writes nothing would wait for nothing, hence the empty message. Locks nothing.
 */
export const FLUSH: Statement<FlushRow> = {
  text: `select ${DURABLY}, pg_logical_emit_message(true, 'consume-once', ''), ${BACKEND}`,
  values: [],
}

export interface MayFlushRow {
  readonly may_flush: boolean
}

/** Locks nothing; one row. Everybody may, unless it was taken away. */
export const MAY_FLUSH: Statement<MayFlushRow> = {
  text: `select bool_or(has_function_privilege(oid, 'execute')) as may_flush from pg_proc
where proname = 'pg_logical_emit_message' and pronamespace = 'pg_catalog'::regnamespace and proargtypes[2] = 'text'::regtype`,
  values: [],
}

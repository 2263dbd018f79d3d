import type { Statement } from './statement.ts'
import { DURABLY } from './transaction.ts'

export interface FlushRow {
  /** Identifies a backend: its process ID and start time, which never repeat. */
  readonly backend: string
}

const BACKEND = `concat_ws(' ', a.pid, a.backend_start) as backend from pg_stat_get_activity(pg_backend_pid()) a`

/** Locks nothing; one row. */
export const WHO_FLUSHES: Statement<FlushRow> = { text: `select ${BACKEND}`, values: [] }

/**
 * Resolves when everything that was committed before it was sent is on disk, and on the synchronous standby if one is
 * configured. A commit without writes would not wait, hence the empty message. Locks nothing.
 */
export const FLUSH: Statement<FlushRow> = {
  text: `select ${DURABLY}, pg_logical_emit_message(true, 'consume-once', ''), ${BACKEND}`,
  values: [],
}

export interface MayFlushRow {
  readonly may_flush: boolean
}

/** Locks nothing; one row. Every role may, unless the right was revoked. */
export const MAY_FLUSH: Statement<MayFlushRow> = {
  text: `select bool_or(has_function_privilege(oid, 'execute')) as may_flush from pg_proc
where proname = 'pg_logical_emit_message' and pronamespace = 'pg_catalog'::regnamespace and proargtypes[2] = 'text'::regtype`,
  values: [],
}

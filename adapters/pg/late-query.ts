import type { Sessions } from './session.ts'

const warned = new WeakSet<Sessions>()

/**
 * No error of a handler tells of it, and its message is settled: so the process does, once for each store. Without the text of
 * the query, which may have values of the message in it.
 */
export function warnOfLateQuery(sessions: Sessions): void {
  if (warned.has(sessions)) return
  warned.add(sessions)
  const text =
    'a query on ctx.tx came after its handler had ended and its message was marked: it was refused, and what it would ' +
    'have written is missing. Await every query and every call of an ORM in the handler'
  process.emitWarning(text, { code: 'CONSUME_ONCE_LATE_QUERY' })
}

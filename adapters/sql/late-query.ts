const warned = new WeakSet<object>()

/**
 * The message is settled already, so no error of a handler can report the query. Emits a process warning instead, once
 * for each store. It omits the text of the query, which may contain values of the message.
 */
export function warnOfLateQuery(store: object): void {
  if (warned.has(store)) return
  warned.add(store)
  const text =
    'a query on ctx.tx came after its handler had ended and its message was marked: it was refused, and what it would ' +
    'have written is missing. Await every query and every call of an ORM in the handler'
  process.emitWarning(text, { code: 'CONSUME_ONCE_LATE_QUERY' })
}

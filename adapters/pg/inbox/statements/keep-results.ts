import { bytes, text } from '../../statements/literals.ts'
import type { Script } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'

/** A key in hex and its result. */
export type KeptResult = readonly [key: string, result: string]

/**
 * Writes results into rows that this transaction has inserted, in the message of its COMMIT. Nobody else sees the rows,
 * so it waits for nothing and finds all of them.
 */
export function keepResults({ inbox }: Tables, scope: number, results: readonly KeptResult[]): Script {
  const [first, second] = results
  if (first !== undefined && second === undefined) {
    const [key, result] = first
    return { text: `update ${inbox} set result = ${text(result)} where scope = ${scope} and key = ${bytes(key)}` }
  }
  const rows = results.map(([key, result]) => `(${bytes(key)}, ${text(result)})`)
  return {
    text: `update ${inbox} i set result = r.result from (values ${rows.join(', ')}) as r (key, result)
where i.scope = ${scope} and i.key = r.key`,
  }
}

import type { Ahead } from '../../sql/in-steps.ts'
import { bytes, inHex } from './literals.ts'
import type { Script } from './script.ts'

/** How far the next records of a scope reach, in the order of keys, and how many they are. Locks nothing, and reads keys only. */
export function lookAhead(
  table: string,
  { scope, after, most }: { readonly scope: number; readonly after: string; readonly most: number },
): Script<Ahead> {
  const ahead = `select \`key\` as k from ${table} where scope = ${scope} and \`key\` > ${bytes(after)} order by \`key\` limit ${most}`
  return { statements: [`select count(*) as looked, ${inHex('max(k)')} as last from (${ahead}) as ahead`] }
}

/** The condition for records up to a key; `undefined`: all of them. */
export function isUpTo(last: string | undefined): string {
  return last === undefined ? 'true' : `\`key\` <= ${bytes(last)}`
}

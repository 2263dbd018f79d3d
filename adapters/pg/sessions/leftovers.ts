/**
 * Whether a statement of a handler may have left something in its session that outlives the transaction: a setting, a
 * role, LISTEN, a lock of the session, a prepared statement, a temporary table. The command that the server executed
 * tells most of it, however the text is written. What a function or a procedure does by itself is not told.
 *
 * Such a connection is closed. DISCARD ALL would also drop prepared statements, which the client relies on, and what the
 * pool has set for its connections.
 */
export function leaves(
  text: string,
  values: readonly unknown[] | undefined,
  command: string | null | undefined,
): boolean {
  if (Object.hasOwn(OF_SESSION, command ?? '')) return !ENDS_WITH_TRANSACTION.test(text)
  return CALLS.test(text) && LEAVING.some((left) => left.test(text)) ? true : setsForSession(text, values)
}

/**
 * Whether a statement of a handler may change what later statements of the transaction run with, until its end or for
 * longer: also what ends with the transaction, such as `set local`.
 */
export function changes(text: string): boolean {
  return SETS.test(text) || SETS_BY_CALL.test(text)
}

/** First words of commands that leave something in the session, and whether later statements run with it. */
const OF_SESSION: Readonly<Record<string, 'runs with it' | 'is left'>> = {
  SET: 'runs with it',
  RESET: 'runs with it',
  DISCARD: 'runs with it',
  LOAD: 'runs with it',
  LISTEN: 'is left',
  UNLISTEN: 'is left',
  PREPARE: 'is left',
  DEALLOCATE: 'is left',
}

const SETTING = Object.keys(OF_SESSION).filter((word) => OF_SESSION[word] === 'runs with it')

/** At the start, behind comments, or behind another statement. The SET of an UPDATE stands at neither. */
const SETS = new RegExp(String.raw`(?:^|;)(?:\s|--[^\n]*\n|/\*[^]*?\*/)*(?:${SETTING.join('|')})\b`, 'i')

const SETS_BY_CALL =
  /\bset_config\b|\bsetseed\b|\bpg_temp\b|\b(?:create|into)\s+(?:(?:local|global|or\s+replace)\s+)*temp(?:orary)?\s/i

const ENDS_WITH_TRANSACTION = /^\s*set\s+(?:local|constraints|transaction)\b/i

/** What every text of `LEAVING` contains, so that most texts are looked at once. */
const CALLS = /advisory|temp|hold|setseed/i

const LEAVING: readonly RegExp[] = [
  /\bpg_(?:try_)?advisory_lock(?:_shared)?\b/i,
  /\b(?:create|into)\s+(?:(?:local|global|or\s+replace)\s+)*temp(?:orary)?\b(?![^]*\bon\s+commit\s+drop\b)/i,
  /\bpg_temp\s*\.(?![^]*\bon\s+commit\s+drop\b)/i,
  /\bdeclare\b[^]*\bwith\s+hold\b/i,
  /\bsetseed\b/i,
]

const SET_CONFIG = /\bset_config\b/gi

/** With its third argument, which says whether the setting ends with the transaction. */
const SET_LOCALLY =
  /\bset_config\b"?\s*\((?:[^()]|\([^()]*\))*,\s*(?:true|'t(?:rue)?'|'on'|'yes'|'1'|\$(\d+))\s*(?:::\s*bool(?:ean)?\s*)?\)/gi

function setsForSession(text: string, values: readonly unknown[] | undefined): boolean {
  const all = text.match(SET_CONFIG)?.length ?? 0
  if (all === 0) return false
  const isLocal = ([, parameter]: RegExpMatchArray): boolean =>
    parameter === undefined || LOCAL.has(values?.[Number(parameter) - 1])
  return [...text.matchAll(SET_LOCALLY)].filter(isLocal).length < all
}

const LOCAL: ReadonlySet<unknown> = new Set([true, 'true', 't', 'on', 'yes', '1'])

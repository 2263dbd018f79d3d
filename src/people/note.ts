import { checkDecider } from './decider.ts'
import { ConfigError } from '../foundation/errors.ts'
import { checkNames, checkText, givenOf } from '../foundation/option-checks.ts'
import type { Note, StoreAdmin } from '../ports/store-admin.ts'

const LONGEST_ABOUT = 200

/**
 * Adds a note to the audit of a scope. `false`: the store keeps no notes.
 *
 * @throws ConfigError `CONFIG_INVALID` for a text that the audit cannot store
 */
export async function noteIn(admin: StoreAdmin | undefined, scope: string, note: Note): Promise<boolean> {
  const problems: string[] = []
  const given = givenOf(note)
  const { what, about, by, reason } = given
  checkNames('', given, { of: 'note()', known: { what, about, by, reason } }, problems)
  if (typeof what !== 'string' || !/^[a-z-]{1,16}$/.test(what)) {
    problems.push(`what: expected 1 to 16 of a-z and -, got ${JSON.stringify(what)}`)
  }
  checkText('about', about, problems)
  if (typeof about === 'string' && about.length > LONGEST_ABOUT) {
    problems.push(`about: expected at most ${LONGEST_ABOUT} characters, got ${about.length}`)
  }
  checkDecider(given, problems)
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `note: ${problem}`))
  if (admin?.note === undefined) return false
  await admin.note(scope, { what, about, by, reason })
  return true
}

/** What a note about a replay is about. */
export function replayAbout(id: string): string {
  return `replay ${id}`
}

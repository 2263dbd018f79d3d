import { DECIDER } from './decider.ts'
import { matching, needed, optionsOf, plainText, type Table } from '../foundation/options.ts'
import type { Note, StoreAdmin } from '../ports/store-admin.ts'

const NOTE: Table<Note> = {
  what: needed(matching('1 to 16 of a-z and -', /^[a-z-]{1,16}$/)),
  about: needed(plainText({ most: 200 })),
  ...DECIDER,
}

/**
 * Adds a note to the audit of a scope. `false`: the store keeps no notes.
 *
 * @throws ConfigError `CONFIG_INVALID` for a text that the audit cannot store
 */
export async function noteIn(admin: StoreAdmin | undefined, scope: string, note: Note): Promise<boolean> {
  const { what, about, by, reason } = optionsOf('note', NOTE, note)
  if (admin?.note === undefined) return false
  await admin.note(scope, { what, about, by, reason })
  return true
}

/** What a note about a replay is about. */
export function replayAbout(id: string): string {
  return `replay ${id}`
}

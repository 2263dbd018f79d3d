import { isoTime } from '../../foundation/clock.ts'
import { parseCondition } from '../expression.ts'
import type { Note } from '../../ports/store-admin.ts'

/** A search for messages by what is in them. */
export interface NotedSearch {
  readonly by: string
  readonly where?: readonly string[] | undefined
  readonly text?: string | undefined
  /** What is looked through. */
  readonly places: string
  readonly since?: number | undefined
  readonly until?: number | undefined
}

/** For the audit: by which fields, and never for what. `undefined`: by keys alone, which tell nothing. */
export function searchNote({ by, where = [], text, places, since, until }: NotedSearch): Note | undefined {
  const fields = where.map(parseCondition).flatMap((one) => (typeof one === 'string' ? [] : [one.field]))
  const about = [...fields, ...(text === undefined ? [] : ['text'])].join(', ')
  if (about === '') return undefined
  const time = [
    since === undefined ? '' : ` since ${isoTime(since)}`,
    until === undefined ? '' : ` until ${isoTime(until)}`,
  ].join('')
  return {
    what: 'search',
    about: about.slice(0, LONGEST),
    by: by.slice(0, LONGEST),
    reason: `searched ${places}${time}`.slice(0, 5 * LONGEST),
  }
}

/** As an audit takes them. */
const LONGEST = 200

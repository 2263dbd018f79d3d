import { BROKER_REASONS, DEAD_LETTER_REASONS } from '../core/after-claim.ts'
import { LACKS, type ReplayRules } from '../core/replay.ts'
import type { EpochMs } from '../core/units.ts'
import { flag, having, judged, listOf, oneOf, or, where, whole, type Rule, type Table } from '../foundation/options.ts'
import { timeText } from '../foundation/time-text.ts'
import { parseCondition } from './expression.ts'
import type { ReplayPlaces } from '../ports/replay.ts'
import type { ReplayJournal } from './journal.ts'
import type { Selection } from './plan.ts'

/** A plan with its IDs must fit the 1 MB of a `ReplayLedger`. */
const MOST_IDS = 20_000
const MOST_ID_BYTES = 600_000

export const RULES: Table<Partial<ReplayRules>> = {
  again: or(false, flag()),
  givenUp: or('skip', oneOf('handle', 'skip')),
  inDoubt: or('leave', oneOf('rerun', 'leave')),
  unknown: or('refuse', oneOf('refuse', 'handle', 'skip')),
  maxReplays: or(2, whole()),
}

export const PLACES: Rule<readonly ReplayPlaces[]> = listOf(having('places such as fileReplay()'))
export const JOURNAL: Rule<ReplayJournal> = having('one such as fileJournal(path) or memoryJournal()', 'open')
export const RATE: Rule<number> = where('a number above 0', (rate) => Number.isFinite(rate) && Number(rate) > 0)

/** Milliseconds since 1970. */
const TIME: Rule<EpochMs> = where('milliseconds since 1970', Number.isSafeInteger)

const WHERE: Rule<string> = judged('a condition such as $message.payload#/to=x', (condition) => {
  const parsed = parseCondition(String(condition))
  return typeof parsed === 'string' ? parsed : undefined
})

/** The options that select messages. */
export const SELECTION: Table<Selection, keyof Selection> = {
  since: TIME,
  until: TIME,
  ids: listOf(
    where('text', (id) => typeof id === 'string'),
    { least: 1, most: MOST_IDS, what: 'message IDs' },
  ),
  where: listOf(WHERE),
  reasons: listOf(oneOf<string>(...DEAD_LETTER_REASONS, ...BROKER_REASONS)),
  include: listOf(oneOf(...LACKS)),
}

/** @param problems - problems are added here */
export function problemsOfSelection({ since, until, ids = [] }: Selection, problems: string[]): void {
  if (since !== undefined && until !== undefined && since >= until) {
    problems.push(`until: expected a time after since, ${timeText(since)}, got ${timeText(until)}`)
  }
  const bytes = ids.reduce((sum, id) => sum + Buffer.byteLength(id), 0)
  if (bytes > MOST_ID_BYTES) {
    problems.push(`ids: expected at most ${MOST_ID_BYTES} bytes in all, got ${bytes}: make several plans`)
  }
}

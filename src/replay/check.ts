import { DEAD_LETTER_REASONS } from '../core/decision.ts'
import { LACKS, type ReplayRules } from '../core/replay.ts'
import { ConfigError } from '../foundation/errors.ts'
import { checkList, checkNames, checkObject, checkOneOf, checkWhole, givenOf } from '../foundation/option-checks.ts'
import { timeText } from '../foundation/time-text.ts'
import { parseCondition } from './expression.ts'
import type { Selection } from './plan.ts'

/** A plan with its IDs must fit the 1 MB of a `ReplayLedger`. */
const MOST_IDS = 20_000
const MOST_ID_BYTES = 600_000

/** What RabbitMQ writes into `x-death`. */
const BROKER_REASONS = ['rejected', 'expired', 'maxlen', 'delivery_limit'] as const

const DEFAULT_RULES: ReplayRules = {
  again: false,
  givenUp: 'skip',
  inDoubt: 'leave',
  unknown: 'refuse',
  maxReplays: 2,
}

/** @param problems - problems are added here */
export function checkedRules(asked: Partial<ReplayRules> | undefined, problems: string[]): ReplayRules {
  const given = asked === undefined ? {} : givenOf(checkObject('rules', asked, problems))
  checkNames('rules.', given, { of: 'planReplay()', known: DEFAULT_RULES }, problems)
  const rules = { ...DEFAULT_RULES, ...given }
  checkOneOf('rules.again', rules.again, [true, false], problems)
  checkOneOf('rules.givenUp', rules.givenUp, ['handle', 'skip'], problems)
  checkOneOf('rules.inDoubt', rules.inDoubt, ['rerun', 'leave'], problems)
  checkOneOf('rules.unknown', rules.unknown, ['refuse', 'handle', 'skip'], problems)
  checkWhole('rules.maxReplays', rules.maxReplays, problems)
  return rules
}

/** @param problems - problems are added here */
export function checkSelection(selection: Selection, problems: string[]): void {
  const { since, until } = selection
  const ids = checkList('ids', selection.ids, problems)
  const where = checkList('where', selection.where, problems)
  for (const reason of checkList('reasons', selection.reasons, problems)) {
    checkOneOf('reasons', reason, [...DEAD_LETTER_REASONS, ...BROKER_REASONS], problems)
  }
  for (const [name, at] of [
    ['since', since],
    ['until', until],
  ] as const) {
    if (at !== undefined && !Number.isSafeInteger(at))
      problems.push(`${name}: expected milliseconds since 1970, got ${at}`)
  }
  if (since !== undefined && until !== undefined && since >= until) {
    problems.push(`until: expected a time after since, ${timeText(since)}, got ${timeText(until)}`)
  }
  if (selection.ids !== undefined && ids.length === 0) problems.push('ids: expected at least one, got none')
  if (ids.length > MOST_IDS) {
    problems.push(`ids: expected at most ${MOST_IDS}, got ${ids.length}: make several plans`)
  }
  const texts = ids.filter((id) => typeof id === 'string')
  if (texts.length < ids.length) problems.push('ids: expected a list of texts')
  const bytes = texts.reduce((sum, id) => sum + Buffer.byteLength(id), 0)
  if (bytes > MOST_ID_BYTES) {
    problems.push(`ids: expected at most ${MOST_ID_BYTES} bytes in all, got ${bytes}: make several plans`)
  }
  for (const lack of checkList('include', selection.include, problems)) checkOneOf('include', lack, LACKS, problems)
  for (const condition of where) {
    const parsed = parseCondition(condition)
    if (typeof parsed === 'string') problems.push(`where: ${parsed}`)
  }
}

/** @throws ConfigError `CONFIG_INVALID` if there are problems */
export function refuseProblems(what: string, problems: readonly string[]): void {
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `${what}: ${problem}`))
}

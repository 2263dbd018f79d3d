import type { Decided, Inspected } from '../../../src/people/admin.ts'
import type { DecideVerdict } from '../../../src/core/record.ts'
import type { Decider } from '../../../src/people/decider.ts'
import { carryOut, DECISIONS, foreseen } from '../../../src/people/decisions.ts'
import { consequenceOf, EFFECT } from '../../../src/people/decision-text.ts'
import type { DecisionAnswer, DecisionKind, DecisionPreview, RecordRow } from '../../api.ts'
import { adminOfShown, type Shown } from '../consumers.ts'
import { badRequest, HttpError } from '../http-error.ts'
import { lookThrough } from '../looking.ts'
import type { Params } from '../params.ts'
import { isUnchanged, versionOf } from '../previews.ts'
import type { Asked, Services } from '../services.ts'
import { filterIn, matches, rowOf } from './records.ts'

/** Records in one decision. */
const MOST = 1_000
const MATCHING = { state: true, reason: true, text: true, before: true }
const SHOWN = 50
const PAGE = 500
const INSPECTED_AT_ONCE = 200
/** A person waits for it, once. */
const MATCHED_WITHIN_MS = 8_000

const NO_RECORD = 'no record: its retention is over, or the key is wrong'

type Verdict = DecideVerdict | 'no-record'

interface PreviewedRow {
  readonly record: Inspected
  readonly verdict: Verdict
}

/** Changes nothing. */
export async function preview(services: Services, { params, principal }: Asked): Promise<DecisionPreview> {
  const shown = services.consumers.of(params)
  const decision = params.oneOf('decision', DECISIONS)
  const { keys, hasMore } = await keysOf(services, shown, params)
  const rows: PreviewedRow[] = []
  await inspectEach(services, { shown, keys }, (record) => {
    rows.push({ record, verdict: foreseen(record, decision) })
  })
  const count = (which: Verdict): number => rows.filter(({ verdict }) => verdict === which).length
  const changing = rows.filter(({ verdict }) => verdict === 'decided').map(({ record }) => record)
  const token = services.previews.keep({
    consumer: shown.id,
    by: principal.by,
    decision,
    records: new Map(changing.map((record) => [record.key, versionOf(record)])),
  })
  return {
    token,
    decision,
    effect: EFFECT[decision],
    changing: changing.length,
    already: count('already'),
    refused: count('refused') + count('no-record'),
    hasMore,
    rows: rows.slice(0, SHOWN).map(({ record, verdict }) => ({
      ...rowOf(record),
      verdict,
      consequence: consequenceIn({ record, verdict }, decision),
    })),
  }
}

/** Decides exactly what the preview showed. A record that has changed since then is left as it is. */
export async function decide(services: Services, { params, principal }: Asked): Promise<DecisionAnswer> {
  const shown = services.consumers.of(params)
  const token = params.text('token')
  const previewed = services.previews.look(token, { consumer: shown.id, by: principal.by })
  const reason = reasonIn(params)
  const confirmed = params.maybeWhole('confirm', { least: 0, most: MOST })
  if (confirmed !== previewed.records.size) {
    throw badRequest(`confirm: expected ${previewed.records.size}, the number of records that change`)
  }
  services.previews.use(token)
  const keys = [...previewed.records.keys()]
  const same: string[] = []
  await inspectEach(services, { shown, keys }, (record) => {
    const shownAs = previewed.records.get(record.key)
    if (shownAs !== undefined && isUnchanged(shownAs, record)) same.push(record.key)
  })
  const decider: Decider = { by: principal.by, reason }
  const decided: Decided[] = []
  for (let at = 0; at < same.length; at += PAGE) {
    const part = same.slice(at, at + PAGE)
    decided.push(...(await services.asking(() => carryOut(adminOfShown(shown), previewed.decision, part, decider))))
  }
  services.counts.clear()
  services.groups.clear()
  services.lists.clear()
  const count = (which: DecideVerdict): number => decided.filter(({ verdict }) => verdict === which).length
  const done = new Set(decided.filter(({ verdict }) => verdict !== 'refused').map(({ key }) => key))
  const refusedKeys = keys.filter((key) => !done.has(key))
  return {
    decided: count('decided'),
    already: count('already'),
    refused: refusedKeys.length,
    refusedKeys: refusedKeys.slice(0, SHOWN),
  }
}

/** The person who decides has read this in the preview, so `--unscoped` is not needed. */
function consequenceIn({ record, verdict }: PreviewedRow, decision: DecisionKind): string {
  const text = consequenceOf(verdict, decision, { scope: record.scope, noRecord: NO_RECORD })
  const isUnknown = verdict === 'decided' && record.scope === 'unknown'
  return isUnknown ? `${text}. It does not say of which consumer it is (it is done): make sure` : text
}

/** In parts: consumers of this process go on between them. */
async function inspectEach(
  services: Services,
  { shown, keys }: { readonly shown: Shown; readonly keys: readonly string[] },
  onRecord: (record: Inspected) => void,
): Promise<void> {
  const admin = adminOfShown(shown)
  for (let at = 0; at < keys.length; at += INSPECTED_AT_ONCE) {
    const part = keys.slice(at, at + INSPECTED_AT_ONCE).map((key) => ({ key }))
    for (const record of await services.asking(() => admin.inspect(part))) onRecord(record)
  }
}

/** @throws HttpError 400 */
export function reasonIn(params: Params): string {
  const reason = params.text('reason').trim()
  if (reason === '' || reason.length > 1_000) throw badRequest('reason: expected 1 to 1000 characters, for the audit')
  return reason
}

async function keysOf(
  services: Services,
  shown: Shown,
  params: Params,
): Promise<{ readonly keys: readonly string[]; readonly hasMore: boolean }> {
  const given = params.maybeTexts('keys', MOST)
  const matching = params.maybeObject('matching', MATCHING)
  if ((given === undefined) === (matching === undefined)) throw badRequest('expected one of keys and matching')
  if (given !== undefined) {
    if (given.some((key) => !/^[\w-]{22}$/.test(key))) throw badRequest('keys: expected keys of 22 characters')
    return { keys: [...new Set(given)], hasMore: false }
  }
  if (matching === undefined) throw new HttpError(500, 'HTTP_UNEXPECTED', 'nothing to match')
  return keysMatching(services, shown, matching)
}

async function keysMatching(
  services: Services,
  shown: Shown,
  params: Params,
): Promise<{ readonly keys: readonly string[]; readonly hasMore: boolean }> {
  const filter = filterIn(params)
  const found = new Set<RecordRow['key']>()
  let isMore = false
  const looking = { admin: adminOfShown(shown), state: filter.state, limit: PAGE, withinMs: MATCHED_WITHIN_MS }
  const { next } = await lookThrough(services, looking, (page) => {
    for (const record of page) {
      if (!matches(record, filter) || found.has(record.key)) continue
      if (found.size === MOST) return (isMore = true)
      found.add(record.key)
    }
    return false
  })
  return { keys: [...found], hasMore: isMore || next !== undefined }
}

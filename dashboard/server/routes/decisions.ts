import type { Decided, RecordRef } from '../../../src/admin.ts'
import { verdictOn, type DecideVerdict } from '../../../src/core/record.ts'
import type { Decider } from '../../../src/decider.ts'
import { EFFECT, ONLY } from '../../../src/decision-text.ts'
import type { DecisionAnswer, DecisionKind, DecisionPreview, RecordRow } from '../../api.ts'
import { adminOfShown, type Shown } from '../consumers.ts'
import { badRequest, HttpError } from '../http-error.ts'
import type { Params } from '../params.ts'
import { versionOf } from '../previews.ts'
import type { Asked, Services } from '../services.ts'
import { filterIn, matches, rowOf } from './records.ts'

export const DECISIONS: readonly DecisionKind[] = ['done', 'rerun', 'reopen', 'forget']

/** Records in one decision. */
const MOST = 1_000
const SHOWN = 50
const PAGE = 500

type Verdict = DecideVerdict | 'no-record'

/** Changes nothing. */
export async function preview(services: Services, { params, principal }: Asked): Promise<DecisionPreview> {
  const shown = services.consumers.of(params)
  const decision = params.oneOf('decision', DECISIONS)
  const { keys, hasMore } = await keysOf(services, shown, params)
  const admin = adminOfShown(shown)
  const records = await services.asking(() => admin.inspect(keys.map((key) => ({ key }))))
  const rows = records.map((record) => {
    const verdict: Verdict = record.state === 'absent' ? 'no-record' : verdictOn(decision, record)
    return { record, verdict }
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
      consequence: consequence(verdict, decision),
    })),
  }
}

/** Decides exactly what the preview showed. A record that has changed since then is left as it is. */
export async function decide(services: Services, { params, principal }: Asked): Promise<DecisionAnswer> {
  const shown = services.consumers.of(params)
  const admin = adminOfShown(shown)
  const token = params.text('token')
  const previewed = services.previews.look(token, { consumer: shown.id, by: principal.by })
  const reason = reasonIn(params)
  const confirmed = params.maybeWhole('confirm', { least: 0, most: MOST })
  if (confirmed !== previewed.records.size) {
    throw badRequest(`confirm: expected ${previewed.records.size}, the number of records that change`)
  }
  services.previews.use(token)
  const keys = [...previewed.records.keys()]
  const now = await services.asking(() => admin.inspect(keys.map((key) => ({ key }))))
  const same = now.filter((record) => previewed.records.get(record.key) === versionOf(record)).map(({ key }) => key)
  const decider: Decider = { by: principal.by, reason }
  const decided: Decided[] = []
  for (let at = 0; at < same.length; at += PAGE) {
    const refs = same.slice(at, at + PAGE).map((key) => ({ key }))
    decided.push(...(await services.asking(() => carryOut(shown, previewed.decision, refs, decider))))
  }
  services.counts.clear()
  services.groups.clear()
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

/** @throws HttpError 400 */
export function reasonIn(params: Params): string {
  const reason = params.text('reason').trim()
  if (reason === '' || reason.length > 1_000) throw badRequest('reason: expected 1 to 1000 characters, for the audit')
  return reason
}

function carryOut(
  shown: Shown,
  decision: DecisionKind,
  refs: readonly RecordRef[],
  decider: Decider,
): Promise<readonly Decided[]> {
  const admin = adminOfShown(shown)
  switch (decision) {
    case 'done':
    case 'rerun':
      return admin.resolve(refs, { ...decider, as: decision })
    case 'reopen':
      return admin.reopen(refs, decider)
    case 'forget':
      return admin.forget(refs, decider)
  }
}

async function keysOf(
  services: Services,
  shown: Shown,
  params: Params,
): Promise<{ readonly keys: readonly string[]; readonly hasMore: boolean }> {
  const given = params.maybeTexts('keys', MOST)
  const matching = params.maybeObject('matching')
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
  const admin = adminOfShown(shown)
  const found = new Set<RecordRow['key']>()
  let after: string | undefined
  do {
    const page = await services.asking(() => admin.list({ state: filter.state, limit: PAGE, after }))
    for (const record of page.records) {
      if (!matches(record, filter) || found.has(record.key)) continue
      if (found.size === MOST) return { keys: [...found], hasMore: true }
      found.add(record.key)
    }
    after = page.next
  } while (after !== undefined)
  return { keys: [...found], hasMore: false }
}

function consequence(verdict: Verdict, decision: DecisionKind): string {
  switch (verdict) {
    case 'decided':
      return EFFECT[decision]
    case 'already':
      return 'is already in that state'
    case 'refused':
      return `stays: ${ONLY[decision]}`
    case 'no-record':
      return 'no record: its retention is over, or the key is wrong'
  }
}

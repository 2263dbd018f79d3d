import type { RecordView } from '../../../src/core/record.ts'
import type { RecordPage } from '../../../src/ports/store-admin.ts'
import type { CountsAnswer, GroupsAnswer, ListState, RecordRow, RecordsAnswer } from '../../api.ts'
import { adminOfShown, type Shown } from '../consumers.ts'
import { apiErrorOf } from '../http-error.ts'
import type { Params } from '../params.ts'
import type { Asked, Services } from '../services.ts'

export const LIST_STATES: readonly ListState[] = ['processing', 'in-doubt', 'parked', 'given-up']

const MOST_COUNTED = 1_000
const PAGE = 50
const LARGEST_PAGE = 500
/** Records that are read for one answer with a filter. */
const MOST_LOOKED_AT = 5_000
const MOST_GROUPED = 10_000
const MOST_GROUPS = 100

export interface RecordFilter {
  readonly state: ListState
  readonly reason: string | undefined
  readonly text: string | undefined
  readonly before: number | undefined
}

export function filterIn(params: Params): RecordFilter {
  return {
    state: params.oneOf('state', LIST_STATES),
    reason: params.maybeText('reason'),
    text: params.maybeText('text'),
    before: params.maybeNumber('before', { least: 0, most: Number.MAX_SAFE_INTEGER }),
  }
}

export async function counts(services: Services): Promise<CountsAnswer> {
  const consumers = await Promise.all(services.consumers.all.map((shown) => countsOf(services, shown)))
  return { now: services.clock.now(), consumers }
}

async function countsOf(services: Services, shown: Shown): Promise<CountsAnswer['consumers'][number]> {
  const none = { consumer: shown.id, counts: undefined, at: undefined, error: undefined }
  if (shown.admin === undefined) return none
  const { admin } = shown
  try {
    return await services.counts.get(shown.id, async () => {
      const found = await services.asking(() => admin.stats(MOST_COUNTED))
      return { consumer: shown.id, counts: found, at: services.clock.now(), error: undefined }
    })
  } catch (error) {
    return { ...none, error: apiErrorOf(error) }
  }
}

export async function records(services: Services, { params }: Asked): Promise<RecordsAnswer> {
  const admin = adminOfShown(services.consumers.of(params))
  const limit = params.maybeWhole('limit', { least: 1, most: LARGEST_PAGE }) ?? PAGE
  const filter = filterIn(params)
  let after = params.maybeText('after')
  const found: RecordRow[] = []
  const isFiltered = hasConditions(filter)
  let lookedAt = 0
  do {
    const page: RecordPage = await services.asking(() =>
      admin.list({ state: filter.state, limit: isFiltered ? LARGEST_PAGE : limit, after }),
    )
    lookedAt += Math.max(1, page.records.length)
    for (const record of page.records) if (matches(record, filter)) found.push(rowOf(record))
    after = page.next
    if (!isFiltered || found.length >= limit) break
  } while (after !== undefined && lookedAt < MOST_LOOKED_AT)
  return { now: services.clock.now(), records: found, next: after }
}

export async function groups(services: Services, { params }: Asked): Promise<GroupsAnswer> {
  const shown = services.consumers.of(params)
  const state = params.oneOf('state', LIST_STATES)
  return services.groups.get(`${state} ${shown.id}`, () => groupsOf(services, shown, state))
}

interface Group {
  readonly reason: string
  readonly cause: string | undefined
  count: number
  oldest: number | undefined
  newest: number | undefined
}

async function groupsOf(services: Services, shown: Shown, state: ListState): Promise<GroupsAnswer> {
  const admin = adminOfShown(shown)
  const byReason = new Map<string, Group>()
  let count = 0
  let after: string | undefined
  do {
    const page: RecordPage = await services.asking(() => admin.list({ state, limit: LARGEST_PAGE, after }))
    for (const record of page.records) addTo(byReason, record)
    count += page.records.length
    after = page.next
  } while (after !== undefined && count < MOST_GROUPED)
  const sorted = [...byReason.values()].toSorted((a, b) => b.count - a.count)
  return {
    now: services.clock.now(),
    total: { count, isAtLeast: after !== undefined },
    groups: sorted.slice(0, MOST_GROUPS),
  }
}

function addTo(byReason: Map<string, Group>, { reason = '', cause, since }: RecordView): void {
  const known = byReason.get(reason)
  if (known === undefined) {
    byReason.set(reason, { reason, count: 1, oldest: since, newest: since, cause })
    return
  }
  known.count++
  if (since === undefined) return
  known.oldest = Math.min(known.oldest ?? since, since)
  known.newest = Math.max(known.newest ?? since, since)
}

function hasConditions({ reason, text, before }: RecordFilter): boolean {
  return reason !== undefined || text !== undefined || before !== undefined
}

export function matches(record: RecordView, { reason, text, before }: RecordFilter): boolean {
  const { since = 0, cause = '' } = record
  return (
    (reason === undefined || (record.reason ?? '') === reason) &&
    (text === undefined || (record.reason ?? '').includes(text) || cause.includes(text)) &&
    (before === undefined || since < before)
  )
}

/** The digest of a short payload can be guessed from, and a result may hold one. */
export function rowOf(record: RecordView & { readonly key: string }): RecordRow {
  const { key, state, fence, attempt, since, notBefore, leaseLeftMs, reason, cause, keepUntil, found, result } = record
  const row = { key, state, fence, attempt, since, notBefore, leaseLeftMs, reason, cause, keepUntil, found }
  return result === undefined ? row : { ...row, hasResult: true }
}

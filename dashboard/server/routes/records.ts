import type { RecordView } from '../../../src/core/record.ts'
import { COUNTED, type Admin } from '../../../src/people/admin.ts'
import type { CountsAnswer, GroupsAnswer, ListState, RecordRow, RecordsAnswer, StateCount } from '../../api.ts'
import { adminOfShown, type Shown } from '../consumers.ts'
import { apiErrorOf } from '../http-error.ts'
import { lookThrough } from '../looking.ts'
import type { Params } from '../params.ts'
import type { Asked, Services } from '../services.ts'

export const LIST_STATES: readonly ListState[] = COUNTED

const MOST_COUNTED = 1_000
const PAGE = 50
const LARGEST_PAGE = 500
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
      const counted: [ListState, StateCount][] = []
      // One after the other: a store may have to look at all its records for each.
      for (const state of LIST_STATES) counted.push([state, await countOf(services, admin, state)])
      const found = Object.fromEntries(counted) as Record<ListState, StateCount>
      const at = services.clock.now()
      services.countedAt.set(shown.id, at)
      return { consumer: shown.id, counts: found, at, error: undefined }
    })
  } catch (error) {
    return { ...none, at: services.countedAt.get(shown.id), error: apiErrorOf(error) }
  }
}

async function countOf(services: Services, admin: Admin, state: ListState): Promise<StateCount> {
  let count = 0
  const { next } = await lookThrough(services, { admin, state, limit: LARGEST_PAGE }, (page) => {
    count += page.length
    return count >= MOST_COUNTED
  })
  return { count: Math.min(count, MOST_COUNTED), isAtLeast: next !== undefined || count > MOST_COUNTED }
}

export async function records(services: Services, { params }: Asked): Promise<RecordsAnswer> {
  const shown = services.consumers.of(params)
  const asked = {
    admin: adminOfShown(shown),
    limit: params.maybeWhole('limit', { least: 1, most: LARGEST_PAGE }) ?? PAGE,
    after: params.maybeText('after'),
  }
  const filter = filterIn(params)
  const id = params.maybeText('id')
  if (id) return recordOfId(services, asked.admin, { id, state: filter.state })
  const name = JSON.stringify([shown.id, filter, asked.limit, asked.after])
  return services.lists.get(name, () => recordsOf(services, asked, filter))
}

async function recordsOf(
  services: Services,
  { admin, limit, after }: { readonly admin: Admin; readonly limit: number; readonly after: string | undefined },
  filter: RecordFilter,
): Promise<RecordsAnswer> {
  const found: RecordRow[] = []
  const limitAtOnce = hasConditions(filter) ? LARGEST_PAGE : limit
  const looking = { admin, state: filter.state, limit: limitAtOnce, after }
  const lookedTo = await lookThrough(services, looking, (page) => {
    for (const record of page) if (matches(record, filter)) found.push(rowOf(record))
    return found.length >= limit
  })
  return { now: services.clock.now(), records: found, ...lookedTo, elsewhere: undefined }
}

async function recordOfId(
  services: Services,
  admin: Admin,
  { id, state }: { readonly id: string; readonly state: ListState },
): Promise<RecordsAnswer> {
  const found = await services.asking(() => admin.inspect([id]))
  const its = found.filter((record) => record.state === state).map(rowOf)
  return {
    now: services.clock.now(),
    records: its,
    looked: found.length,
    next: undefined,
    elsewhere: its.length > 0 ? undefined : found[0]?.state,
  }
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
  const { next } = await lookThrough(services, { admin, state, limit: LARGEST_PAGE }, (page) => {
    for (const record of page) addTo(byReason, record)
    count += page.length
    return count >= MOST_GROUPED
  })
  const sorted = [...byReason.values()].toSorted((a, b) => b.count - a.count)
  return {
    now: services.clock.now(),
    total: { count, isAtLeast: next !== undefined },
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
  const { since, cause = '' } = record
  return (
    (reason === undefined || (record.reason ?? '') === reason) &&
    (text === undefined || (record.reason ?? '').includes(text) || cause.includes(text)) &&
    (before === undefined || (since !== undefined && since < before))
  )
}

/** The digest of a short payload can be guessed from, and a result may hold one. */
export function rowOf(record: RecordView & { readonly key: string }): RecordRow {
  const { key, state, fence, attempt, since, notBefore, leaseLeftMs, reason, cause, keepUntil, found, result } = record
  const row = { key, state, fence, attempt, since, notBefore, leaseLeftMs, reason, cause, keepUntil, found }
  return result === undefined ? row : { ...row, hasResult: true }
}

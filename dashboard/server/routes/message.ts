import type { Inspected, RecordRef } from '../../../src/people/admin.ts'
import { adviceOf, lookAt } from '../../../src/people/advice.ts'
import type { Named } from '../../../src/people/command-text.ts'
import { verdictOn, type Key } from '../../../src/core/record.ts'
import { DECISIONS } from '../../../src/people/decisions.ts'
import { idempotencyKeyIn, KEY_LENGTH, keyIn } from '../../../src/records/key-in.ts'
import { topicsOf } from '../../../src/replay/find/in-hand.ts'
import { positionIn } from '../../../src/replay/find/position.ts'
import { messageAt, NOTHING_THERE, type MessageAt } from '../../../src/replay/find/read-at.ts'
import type { AuditRow, DecisionKind, MessageAnswer, MessageRecord } from '../../api.ts'
import { storyOf } from '../message/story.ts'
import { isConflictIn, verdictsOf } from '../message/verdict.ts'
import { adminOfShown, adminUnder, type Shown } from '../consumers.ts'
import { dropOldest } from '../bounded.ts'
import { badRequest, HttpError } from '../http-error.ts'
import { lookThrough } from '../looking.ts'
import { noted } from '../noted.ts'
import { shownMessage, type Seen } from '../payload.ts'
import type { Asked, Services } from '../services.ts'
import { LIST_STATES, rowOf } from './records.ts'

const SHORTEST_KEY = 4
const PAGE = 500
const MOST_AUDITED = 50

export async function message(services: Services, asked: Asked): Promise<MessageAnswer> {
  const { params } = asked
  const shown = services.consumers.of(params)
  const [id, key, at] = [params.maybeText('id'), params.maybeText('key'), params.maybeText('at')]
  if ([id, key, at].filter((one) => one !== undefined && one !== '').length !== 1) {
    throw badRequest('expected one of id, key and at')
  }
  const found = await find(services, shown, { id, key, at, origin: params.maybeText('origin') })
  const isOneOfMany = found.records.length > 1
  const named = found.records.map((record) => ({
    record,
    isConflict: found.isConflict,
    message: {
      id: typeof record.ref === 'string' ? record.ref : undefined,
      key: record.key,
      origin: isOneOfMany ? record.origin : undefined,
    },
  }))
  const records = await Promise.all(named.map((one) => recordOf(services, shown, one, asked)))
  const unnoted =
    found.message?.payload === undefined ? undefined : await unnotedLook(services, shown, found.message, asked)
  const its = found.message && { ...found.message, unnoted }
  return { now: services.clock.now(), records, message: its, noId: found.noId }
}

const NOTED_AGAIN_MS = 3_600_000
const MOST_SEEN = 10_000

/** Who was shown the payload of which message: once an hour, as a page that is open asks every few seconds. */
async function unnotedLook(
  services: Services,
  shown: Shown,
  { part, position }: Seen,
  { principal }: Asked,
): Promise<string | undefined> {
  const { payloadsSeen, clock } = services
  const by = principal.by.slice(0, 200)
  const name = JSON.stringify([by, shown.id, part, position])
  const last = payloadsSeen.get(name)
  if (last !== undefined && clock.monotonic() - last < NOTED_AGAIN_MS) return undefined
  const about = `message ${part}/${position}`.slice(0, 200)
  const why = await noted(services, shown, {
    what: 'look',
    about,
    by,
    reason: 'its payload was shown in the dashboard',
  })
  if (why !== undefined) return why
  payloadsSeen.delete(name)
  payloadsSeen.set(name, clock.monotonic())
  dropOldest(payloadsSeen, MOST_SEEN)
  return undefined
}

interface Given {
  readonly id: string | undefined
  readonly key: string | undefined
  readonly at: string | undefined
  readonly origin: string | undefined
}

interface Found {
  readonly records: readonly Inspected[]
  readonly message: Seen | undefined
  readonly noId: string | undefined
  /** What was found at a place is another message than the record is of. */
  readonly isConflict: boolean
}

async function find(services: Services, shown: Shown, { id, key, at, origin }: Given): Promise<Found> {
  const none = { message: undefined, noId: undefined, isConflict: false }
  if (id) {
    const admin = adminUnder(shown, origin)
    return { ...none, records: await services.asking(() => admin.inspect([id])) }
  }
  if (at === undefined || at === '') {
    return { ...none, records: await recordsNamed(services, shown, key ?? '') }
  }
  const { consumer } = shown.entry
  const { item, record, isConflict } = await foundAt(services, shown, at)
  const found = shownMessage(item, services.options, consumer.name)
  if (typeof record === 'string') return { ...none, records: [], message: found, noId: record }
  return { ...none, records: [record], message: found, isConflict }
}

async function foundAt(
  services: Services,
  { entry: { consumer, subscription } }: Shown,
  at: string,
): Promise<MessageAt> {
  const position = positionIn(at)
  if (position === undefined) throw badRequest('at: expected topic/partition/offset, such as sms/3/1204')
  const topics = topicsOf(subscription)
  if (topics.length === 0) throw badRequest('at: only messages of Kafka can be found by their place')
  if (!topics.includes(position.topic)) {
    throw badRequest(`at: expected one of the topics of this consumer: ${topics.join(', ')}`)
  }
  const found = await messageAt(consumer, subscription, position, (work) => services.asking(work))
  if (found !== undefined) return found
  throw new HttpError(404, 'HTTP_NOT_FOUND', NOTHING_THERE)
}

/** By a key or its beginning, by an idempotency key, or by an ID that somebody took for one of them. */
async function recordsNamed(services: Services, shown: Shown, text: string): Promise<readonly Inspected[]> {
  const admin = adminOfShown(shown)
  const inspected = (ref: RecordRef): Promise<readonly Inspected[]> => services.asking(() => admin.inspect([ref]))
  const whole = keyIn(text)
  if (whole !== undefined) {
    const idempotencyKey = idempotencyKeyIn(text)
    return (await inspected({ key: whole })).map((record) => ({ ...record, idempotencyKey }))
  }
  const begun = BEGINNING.test(text) ? await beginningWith(services, shown, text) : undefined
  if (begun?.key !== undefined) return inspected({ key: begun.key })
  const byId = (await inspected(text)).filter(({ state }) => state !== 'absent')
  if (byId.length > 0) return byId
  const wanted = `expected a key of ${KEY_LENGTH} characters, its first ${SHORTEST_KEY} or more, an idempotency key of 43, or a message ID`
  const beginning =
    begun === undefined
      ? 'no record of this consumer has this ID'
      : `no key of what is ${LIST_STATES.join(', ')} begins with ${text}${begun.isAll ? '' : ' among the first of many records'}, and no record has this ID`
  throw new HttpError(404, 'HTTP_NOT_FOUND', `key: ${beginning}: ${wanted}. For what is done, give all of the key`)
}

const BEGINNING = new RegExp(`^[\\w-]{${SHORTEST_KEY},${KEY_LENGTH - 1}}$`)

/** Done records are not searched: there may be millions. @throws HttpError 400 for the beginning of several keys */
async function beginningWith(
  services: Services,
  shown: Shown,
  text: string,
): Promise<{ readonly key: Key | undefined; readonly isAll: boolean }> {
  const admin = adminOfShown(shown)
  const found = new Set<string>()
  let isAll = true
  for (const state of LIST_STATES) {
    const { next } = await lookThrough(services, { admin, state, limit: PAGE }, (page) => {
      for (const { key } of page) if (key.startsWith(text)) found.add(key)
      return false
    })
    isAll &&= next === undefined
  }
  const [key, another] = found
  if (another !== undefined) throw badRequest(`key: ${found.size} keys begin with ${text}: give more characters`)
  return { key, isAll }
}

interface Asking {
  readonly record: Inspected
  readonly message: Named
  readonly isConflict: boolean
}

async function recordOf(
  services: Services,
  shown: Shown,
  { record, message: its, isConflict: isOther }: Asking,
  { principal }: Asked,
): Promise<MessageRecord> {
  const { key, origin } = record
  const { name } = shown.entry.consumer
  const [audit, entries] = await Promise.all([auditOf(services, shown, key), services.live.entriesOf(name, key)])
  const { maxAttempts } = shown.definition
  const isConflict = isOther || isConflictIn(entries)
  const advised = {
    consumer: shown.info(principal.readOnly),
    consumers: services.consumers.all.map((one) => ({ name: one.entry.consumer.name })),
    message: its,
  }
  const { text, commands } = adviceOf(record, { ...advised, isConflict })
  const look = lookAt(advised)
  return {
    ...rowOf(record),
    origin,
    idempotencyKey: record.idempotencyKey,
    advice: { text, commands: record.state === 'done' ? [look, ...commands] : [...commands, look] },
    verdicts: verdictsOf({ ...rowOf(record), maxAttempts, isConflict }, entries, services.clock.now()),
    isConflict,
    story: storyOf(entries),
    maxAttempts,
    decisions: principal.readOnly ? [] : decisionsOn(record, isConflict),
    audit,
    entries,
  }
}

/** Without those that would do harm, or do the same as another one: the command-line tool has them all. */
function decisionsOn(record: Inspected, isConflict: boolean): readonly DecisionKind[] {
  return DECISIONS.filter((decision) => {
    if (decision === 'forget' && isConflict) return false
    if (decision === 'rerun' && record.state === 'given-up') return false
    return verdictOn(decision, record) === 'decided'
  })
}

async function auditOf(services: Services, shown: Shown, key: string): Promise<readonly AuditRow[]> {
  if (shown.definition.store.admin?.audit === undefined) return []
  const page = await services.asking(() => adminOfShown(shown).audit({ key, limit: MOST_AUDITED }))
  return page.entries.map(auditRow)
}

/** Without the record as it was: a store may keep a digest in it. */
export function auditRow({ id, at, key, decision, by, reason, before, about }: AuditRow): AuditRow {
  return { id, at, key, decision, by, reason, before, about }
}

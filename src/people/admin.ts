import { idBytes, WHY_UNUSABLE } from '../core/message-id.ts'
import type { DecideVerdict, Key, RecordView } from '../core/record.ts'
import type { EpochMs } from '../core/units.ts'
import { keptIn } from '../core/result.ts'
import { DECIDER, type Decider } from './decider.ts'
import { definitionOf, type Consumer } from '../consumer/define-consumer.ts'
import { identityOf, numberedKey, ScopeIdentity, type Identity } from '../identity/digest.ts'
import { ConfigError } from '../foundation/errors.ts'
import { noteIn } from './note.ts'
import {
  needed,
  oneOf,
  optionsOf,
  or,
  refuse,
  plainText,
  where,
  whole,
  type Rule,
  type Table,
} from '../foundation/options.ts'
import type { ResolvedConsumer } from '../consumer/resolve-options.ts'
import { checkSubscription } from './check-subscription.ts'
import type { Subscription } from '../ports/subscription.ts'
import type {
  AuditPage,
  AuditQuery,
  ListedState,
  ListQuery,
  Note,
  Purged,
  RecordPage,
  StoreAdmin,
  Why,
} from '../ports/store-admin.ts'
import { keyScope, scopeName } from '../consumer/scope.ts'
import { ofRead } from './of-read.ts'
import { EachOnce } from '../records/each-once.ts'

/**
 * A message, given by its ID as text or bytes, or by its key as `list` and the log show it. A key is of one consumer, and
 * is decided for that one only. On Redis, records that are done do not say whose they
 * are (`scope: 'unknown'`): decide about them by the ID, which is turned into a key of this consumer, or say with
 * `unscoped` that the key is of this consumer.
 */
export type RecordRef = string | Uint8Array | { readonly key: Key; readonly unscoped?: boolean }

/** A record, with the reference by which it was requested. */
export interface Inspected extends RecordView {
  readonly ref: RecordRef
  readonly key: Key
  /**
   * `ctx.idempotencyKey` of its handler, by which a provider can be asked; `undefined` if the record was requested by its key, which
   * is the shorter one.
   */
  readonly idempotencyKey: string | undefined
  /** The topic or queue under which the ID was found; `undefined` if the record was requested by its key. */
  readonly origin: string | undefined
}

export interface Decided {
  readonly ref: RecordRef
  readonly key: Key
  readonly verdict: DecideVerdict
}

/** Number of records in a state. `isAtLeast`: counting stopped at a limit, and there may be more. */
export interface StateCount {
  readonly count: number
  readonly isAtLeast: boolean
}

export type CountedState = Exclude<ListedState, 'done'>

/** Operations for people on the messages of one consumer. None of them opens or closes the store. */
export interface Admin {
  /** The name of the scope in the store. Use it to read the audit. */
  readonly scope: string
  /**
   * For each message, every record under one of the origins; if there is none, one that is `absent`, under the first
   * origin. Changes nothing.
   */
  inspect(refs: readonly RecordRef[]): Promise<readonly Inspected[]>
  /**
   * Records in one state, a page at a time, in no particular order. Stores know keys, not IDs. Changes nothing. A page may
   * be empty and have a next one: `lookAtMost` is 100000 by default, so that each page takes bounded time.
   */
  list(query: ListQuery): Promise<RecordPage>
  /**
   * Decides messages that are parked, in doubt or given up. `done`: the effect happened. `rerun`: the next delivery
   * runs, with all its attempts. Before `rerun` make sure that the old handler has ended. A record of another consumer is
   * `refused`, here and in the other decisions.
   *
   * @throws ConfigError `CONFIG_INVALID` for a key whose record does not say whose it is, unless it is `unscoped`
   */
  resolve(refs: readonly RecordRef[], how: Decider & { readonly as: 'done' | 'rerun' }): Promise<readonly Decided[]>
  /** For messages that were given up, without an effect: the next delivery runs, with all its attempts. */
  reopen(refs: readonly RecordRef[], why: Decider): Promise<readonly Decided[]>
  /** For messages that are done: the effect happens again at the next delivery. */
  forget(refs: readonly RecordRef[], why: Decider): Promise<readonly Decided[]>
  /**
   * Records messages as done that happened before this consumer used the library, so that a replay does not repeat them.
   * Only those without a record; with several origins, give keys or a single origin.
   *
   * @throws ConfigError `CONFIG_INVALID` for a store that cannot import
   */
  import(refs: readonly RecordRef[], why: Decider): Promise<readonly Decided[]>
  /**
   * The decisions of people, the newest first, a page at a time. Redis keeps about 10,000 of them, of all consumers.
   *
   * @throws ConfigError `CONFIG_INVALID` for a store that shows no audit
   */
  audit(query: AuditQuery): Promise<AuditPage>
  /**
   * Adds to the audit what a person did beside the records, such as `{ what: 'pause', about: 'consumer', by, reason }`. Changes
   * no record. Resolves `false` if the store keeps no notes.
   *
   * @throws ConfigError `CONFIG_INVALID` for a text that the audit cannot store
   */
  note(note: Note): Promise<boolean>
  /**
   * Removes one batch of records whose retention has ended; call it again while `more` is true.
   *
   * @param batchSize - records removed in one transaction, 1 to 100000.
   * @defaultValue 10000
   */
  purge(batchSize?: number): Promise<Purged>
  /** The store expires records on its own, as Redis does, and `purge` removes nothing. */
  readonly forgetsByItself: boolean
  /** @param most - highest count per state; counting stops there. @defaultValue 10000 */
  stats(most?: number): Promise<Readonly<Record<CountedState, StateCount>>>
}

/** Keys in one call of the store. */
const KEYS_PER_CALL = 500
const PAGE = 1_000
const MOST_COUNTED = 10_000
const PURGE_BATCH = 10_000
const PURGED_AT_ONCE = whole({ most: 100_000 })

const LIST: Table<ListQuery, 'after'> = {
  state: needed(oneOf('processing', 'in-doubt', 'given-up', 'parked', 'done')),
  limit: needed(whole()),
  lookAtMost: or(100_000, whole()),
  after: plainText(),
}
const TIME: Rule<EpochMs> = where('milliseconds since 1970', Number.isFinite)

const AUDIT: Table<AuditQuery, Exclude<keyof AuditQuery, 'limit'>> = {
  key: plainText(),
  by: plainText(),
  decision: plainText(),
  since: TIME,
  until: TIME,
  limit: needed(whole()),
  after: plainText(),
}

type Resolving = Decider & { readonly as: 'done' | 'rerun' }
const RESOLVE: Table<Resolving> = { ...DECIDER, as: needed(oneOf('done', 'rerun')) }

export const COUNTED: readonly CountedState[] = ['processing', 'in-doubt', 'given-up', 'parked']

/**
 * Operations for people on the records of a consumer. A message is found by its ID under each of `subscription.origins`; give a
 * single origin if two topics have messages with equal IDs.
 *
 * @throws ConfigError `CONFIG_INVALID` for a store without `admin`, or one of strategy `offsets`, which has no record
 * for each message. Each method
 *   throws it for an unusable ID, and a decision throws it for an ID that has records under several origins
 */
export function adminOf(consumer: Consumer, subscription: Pick<Subscription, 'group' | 'origins'>): Admin {
  const definition = definitionOf(consumer)
  const problems: string[] = []
  checkSubscription(subscription, { needsOrigins: true }, problems)
  const { strategy, admin } = definition.store
  if (strategy === 'offsets') {
    problems.push(
      `store: expected one with a record for each message, got strategy offsets, which has a position for each partition: \`consume-once positions ${definition.name}\` shows them, as positionsOf() does`,
    )
  } else if (admin === undefined) {
    problems.push('store: expected one that people may look into (`admin`), got one without')
  }
  if (admin === undefined || problems.length > 0)
    throw new ConfigError(problems.map((one) => `${named(definition)}: ${one}`))
  return new StoreRecords(definition, subscription, admin)
}

/** Stores keep the trace of a run in the text of its result. */
function withTraceApart<R extends RecordView>(record: R): R {
  if (record.result === undefined) return record
  const { result, trace } = keptIn(record.result)
  return trace === undefined ? record : { ...record, result, trace }
}

class StoreRecords implements Admin {
  readonly scope: string
  readonly forgetsByItself: boolean
  readonly #consumer: ResolvedConsumer
  readonly #subscription: Pick<Subscription, 'group' | 'origins'>
  readonly #admin: StoreAdmin

  constructor(consumer: ResolvedConsumer, subscription: Pick<Subscription, 'group' | 'origins'>, admin: StoreAdmin) {
    this.scope = scopeName(consumer, subscription.group)
    this.forgetsByItself = admin.forgetsByItself ?? false
    this.#consumer = consumer
    this.#subscription = subscription
    this.#admin = admin
  }

  async inspect(refs: readonly RecordRef[]): Promise<readonly Inspected[]> {
    return (await this.#look(refs)).flat()
  }

  async list(asked: ListQuery): Promise<RecordPage> {
    const query = optionsOf(named(this.#consumer), LIST, asked)
    const { records, ...rest } = await ofRead(this.#admin.list(this.scope, query), this.#admin)
    return { ...rest, records: records.map(withTraceApart) }
  }

  async resolve(refs: readonly RecordRef[], how: Resolving): Promise<readonly Decided[]> {
    const { as } = optionsOf(named(this.#consumer), RESOLVE, how)
    const checked = this.#why(how)
    return this.#decide(refs, (keys) => this.#admin.resolve(this.scope, keys, { ...checked, as }))
  }

  async reopen(refs: readonly RecordRef[], why: Decider): Promise<readonly Decided[]> {
    const checked = this.#checked(why)
    return this.#decide(refs, (keys) => this.#admin.reopen(this.scope, keys, checked))
  }

  async forget(refs: readonly RecordRef[], why: Decider): Promise<readonly Decided[]> {
    const checked = this.#checked(why)
    return this.#decide(refs, (keys) => this.#admin.forget(this.scope, keys, checked))
  }

  async import(refs: readonly RecordRef[], why: Decider): Promise<readonly Decided[]> {
    const admin = this.#admin
    if (admin.import === undefined) throw this.#invalid('store: expected one with admin.import, got one without')
    const checked = this.#checked(why)
    const places = refs.map((ref, at) => this.#only(this.#placesOf(ref), at, 'may have'))
    return decideEach(places, async (keys) => (await admin.import?.(this.scope, keys, checked)) ?? [])
  }

  async audit(query: AuditQuery): Promise<AuditPage> {
    optionsOf(named(this.#consumer), AUDIT, query)
    const page = this.#admin.audit && (await ofRead(this.#admin.audit(this.scope, query), this.#admin))
    if (page === undefined) throw this.#invalid('store: expected one with admin.audit, got one without')
    return page
  }

  note(note: Note): Promise<boolean> {
    return noteIn(this.#admin, this.scope, note)
  }

  async purge(batchSize: number = PURGE_BATCH): Promise<Purged> {
    const problems: string[] = []
    PURGED_AT_ONCE.read(batchSize, { name: 'batchSize', problems })
    refuse(named(this.#consumer), problems)
    return this.#admin.purge(this.scope, { retentionMs: this.#consumer.retentionMs, limit: batchSize })
  }

  async stats(most: number = MOST_COUNTED): Promise<Readonly<Record<CountedState, StateCount>>> {
    const counts: [CountedState, StateCount][] = []
    // One after the other: a store may have to scan all its records.
    for (const state of COUNTED) counts.push([state, await this.#count(state, most)])
    return Object.fromEntries(counts) as Record<CountedState, StateCount>
  }

  async #count(state: CountedState, most: number): Promise<StateCount> {
    const once = new EachOnce()
    let count = 0
    let after: string | undefined
    do {
      const page = await ofRead(
        this.#admin.list(this.scope, { state, limit: Math.min(PAGE, most - count), after }),
        this.#admin,
      )
      count += once.of(page.records).length
      after = page.next
    } while (after !== undefined && count < most)
    return { count, isAtLeast: after !== undefined }
  }

  /** The records of each message, in the order of `refs`. */
  async #look(refs: readonly RecordRef[]): Promise<readonly (readonly Inspected[])[]> {
    const places = refs.map((ref) => this.#placesOf(ref))
    const views = await inChunks(
      places.flat().map(({ key }) => key),
      (keys) => ofRead(this.#admin.peek(this.scope, keys), this.#admin),
    )
    let at = 0
    return places.map((ofOne) => {
      const found = ofOne.map((place): Inspected => ({
        ...place,
        ...withTraceApart(views[at++] ?? { state: 'absent' }),
      }))
      const there = found.filter(({ state }) => state !== 'absent')
      return there.length > 0 ? there : found.slice(0, 1)
    })
  }

  async #decide(
    refs: readonly RecordRef[],
    decide: (keys: readonly Key[]) => Promise<readonly DecideVerdict[]>,
  ): Promise<readonly Decided[]> {
    const records = (await this.#look(refs)).map((found, at) => this.#only(found, at, 'has'))
    const unproven = records.flatMap((record, at) => (isUnproven(record) ? [at] : []))
    const [first] = unproven
    if (first !== undefined) throw this.#invalid(`message ${first + 1}${andMore(unproven)}: ${UNPROVEN}`) // mutant: unscoped-decided-by-key
    return decideEach(records, decide)
  }

  #only(found: readonly Place[], at: number, has: 'has' | 'may have'): Place {
    const [record, another] = found
    if (record === undefined) throw new TypeError('a message without a record or its absence (admin.only)')
    if (another === undefined) return record
    const origins = found.map(({ origin }) => origin).join(', ')
    throw this.#invalid(
      has === 'has'
        ? `message ${at + 1}: expected its ID under one origin, got records of ${origins}: give one origin`
        : `message ${at + 1}: expected one origin that its ID is of, got ${origins}: give one origin`,
    )
  }

  #placesOf(ref: RecordRef): readonly Place[] {
    if (typeof ref === 'object' && 'key' in ref)
      return [{ ref, key: ref.key, idempotencyKey: undefined, origin: undefined }]
    const bytes = idBytes(ref)
    if (typeof bytes === 'string') throw this.#invalid(`message ID: ${WHY_UNUSABLE[bytes]}`)
    const { group, origins } = this.#subscription
    const isText = typeof this.#consumer.scope === 'string'
    const places = new Map<Key, Place>()
    // With the option `scope`, origins may share one key.
    for (const origin of origins) {
      const identity = this.#identityOf(keyScope(this.#consumer, group, origin), bytes)
      if (!places.has(identity.key)) places.set(identity.key, { ref, ...identity, origin: isText ? undefined : origin })
    }
    return [...places.values()]
  }

  #identityOf(scope: readonly Uint8Array[], id: Uint8Array): Identity {
    if (this.#consumer.store.keys !== 'sequences') return identityOf(scope, id)
    const key = numberedKey(new ScopeIdentity(scope), id)
    if (key === undefined)
      throw this.#invalid(
        'message ID: expected one of messageId.sourceSequence(), `number:source`, or a key of 36 characters, as lists show it',
      )
    return { key, idempotencyKey: key }
  }

  #checked(why: Decider): Why {
    optionsOf(named(this.#consumer), DECIDER, why)
    return this.#why(why)
  }

  #why({ by, reason }: Decider): Why {
    return { by, reason, retentionMs: this.#consumer.retentionMs }
  }

  #invalid(...problems: readonly string[]): ConfigError {
    return new ConfigError(problems.map((one) => `${named(this.#consumer)}: ${one}`))
  }
}

type Place = Pick<Inspected, 'ref' | 'key' | 'idempotencyKey' | 'origin'>

/** Nothing shows that the record is of the consumer: neither itself, nor an ID, nor the person. */
export function isUnproven({ ref, scope }: Pick<Inspected, 'ref' | 'scope'>): boolean {
  return scope === 'unknown' && typeof ref === 'object' && 'key' in ref && ref.unscoped !== true
}

const UNPROVEN: string = `expected a key whose record says that it is of this consumer, got one that does not say whose it is (it is done): give the message ID, or { key, unscoped: true } if it is surely of this consumer`

function andMore(places: readonly number[]): string {
  return places.length === 1 ? '' : ` and ${places.length - 1} more`
}

/** Decides each key once. */
async function decideEach(
  places: readonly Place[],
  decide: (keys: readonly Key[]) => Promise<readonly DecideVerdict[]>,
): Promise<readonly Decided[]> {
  const keys = [...new Set(places.map(({ key }) => key))]
  const verdicts = await inChunks(keys, decide)
  const byKey = new Map(keys.map((key, at) => [key, verdicts[at] ?? 'refused']))
  return places.map(({ ref, key }) => ({ ref, key, verdict: byKey.get(key) ?? 'refused' }))
}

function named({ name }: ResolvedConsumer): string {
  return `consumer ${JSON.stringify(name)}`
}

async function inChunks<T>(
  keys: readonly Key[],
  ask: (keys: readonly Key[]) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const answers: T[] = []
  for (let at = 0; at < keys.length; at += KEYS_PER_CALL) {
    answers.push(...(await ask(keys.slice(at, at + KEYS_PER_CALL))))
  }
  return answers
}

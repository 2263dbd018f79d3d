import { whyUnusable, WHY_UNUSABLE } from '../../core/message-id.ts'
import type { DeadLetterReason } from '../../core/after-claim.ts'
import { numberedKey, ScopeIdentity } from '../../identity/digest.ts'
import { atOnce, unawaited } from '../../foundation/at-once.ts'
import { describeError } from '../../foundation/errors.ts'
import { isOutage } from '../../foundation/outage.ts'
import { isThenable } from '../../foundation/thenable.ts'
import { traitsOf } from '../../identity/id-traits.ts'
import { foundInsteadOfId, ID_AT_ONCE, idIn, USABLE_AS_ID } from '../../identity/id-value.ts'
import type { Identity } from '../../identity/identities.ts'
import type { IncomingMessage } from '../../identity/message-id.ts'
import type { ResolvedConsumer } from '../../consumer/resolve-options.ts'
import type { Message } from '../../ports/message.ts'
import type { Delivery } from '../../ports/source.ts'
import { keyScope, positionScope } from '../../consumer/scope.ts'
import { Task, type OtherIdentity } from '../task.ts'

/**
 * Reads the message ID as text, for logs with `logIds`; `undefined` if it is not usable, or lies in a payload that is
 * decoded later and was not given.
 */
export function createIdReader(
  consumer: ResolvedConsumer,
): (message: Message, payload?: DecodedPayload) => string | undefined {
  return (message, payload) => {
    if (consumer.store.strategy === 'offsets') return undefined
    try {
      const incoming = new Incoming(message, consumer, payload)
      for (const { extract } of consumer.identities) {
        const id = idIn(atOnce('id', extract(incoming), ID_AT_ONCE))
        const unusable = whyUnusable(id)
        if (unusable === undefined) return typeof id === 'string' ? id : Buffer.from(id ?? []).toString('utf8')
        if (unusable !== 'missing') return undefined
      }
      return undefined
    } catch {
      return undefined
    }
  }
}

/** A message for which no key can be computed. */
export interface Unidentified {
  readonly reason: DeadLetterReason
  readonly detail: string
  /** The error that was thrown, if any. */
  readonly error?: unknown
  /** The extractor found no ID at all: of several identities, a message may lack some. */
  readonly isMissing?: true
}

const NOT_COMPARED = ''

const NOT_NUMBERED: Unidentified = {
  reason: 'no-id',
  detail: 'the store keeps sequences: expected an ID of messageId.sourceSequence(), `number:source`',
}

/** A payload that was decoded later, for the second try. */
export interface DecodedPayload {
  readonly payload: unknown
}

/** The ID lies in a payload that is decoded later, or cannot be decoded now: ask again with it. */
export class NotYet {
  readonly payload: PromiseLike<unknown>

  constructor(payload: PromiseLike<unknown>) {
    this.payload = payload
  }
}

export type Identify = (delivery: Delivery, payload?: DecodedPayload) => Task | Unidentified | NotYet

/** Number of origins whose scope is cached. Origins come from messages, so there is no other bound. */
const SCOPES_KEPT = 1_000

/**
 * Reads the idempotency key of a message, from the raw bytes: of several identities the first that it has. Text, or why
 * there is none. Never throws.
 */
function createKeyReader(
  consumer: ResolvedConsumer,
  group: string,
): (message: Message, payload?: DecodedPayload) => string | Unidentified | NotYet {
  const [first, ...others] = consumer.identities.map((identity, at) => keyReaderOf(consumer, group, identity, at))
  return (message, payload) => {
    const incoming = new Incoming(message, consumer, payload)
    let key = first?.(incoming) ?? NO_IDENTITY
    for (const keyOf of others) if (typeof key !== 'string' && key.isMissing) key = keyOf(incoming)
    return incoming.notYet ?? (typeof key !== 'string' && key.isMissing ? missing(consumer, incoming) : key)
  }
}

/** The same for callers that can wait. @throws the decoder's error if a server that it needs does not answer now */
export function createKeyFinder(
  consumer: ResolvedConsumer,
  group: string,
): (message: Message) => string | Unidentified | Promise<string | Unidentified> {
  const keyOf = createKeyReader(consumer, group)
  const later = async (message: Message, { payload }: NotYet): Promise<string | Unidentified> => {
    let decoded: { readonly payload: unknown }
    try {
      decoded = { payload: await payload }
    } catch (error) {
      if (isOutage(error)) throw error
      return undecodable(error)
    }
    const key = keyOf(message, decoded)
    return key instanceof NotYet ? NO_IDENTITY : key
  }
  return (message) => {
    const key = keyOf(message)
    return key instanceof NotYet ? later(message, key) : key
  }
}

function placeOf(extract: Identity['extract'], incoming: Incoming): string {
  const { explain } = traitsOf(extract)
  return explain === undefined ? '' : `: ${explain(incoming)}`
}

/** Only for a message that has none of the IDs: a message may well lack some. */
function missing({ identities }: ResolvedConsumer, incoming: Incoming): Unidentified {
  const places = identities.map(({ extract }) => {
    try {
      return (
        traitsOf(extract).explain?.(incoming) ??
        `the ID extractor returned ${foundInsteadOfId(atOnce('id', extract(incoming), ID_AT_ONCE))}`
      )
    } catch (error) {
      return `the ID extractor threw: ${describeError(error)}`
    }
  })
  return { ...NO_IDENTITY, detail: `${NO_IDENTITY.detail}: ${places.join('; ')}; expected ${USABLE_AS_ID}` }
}

const NO_IDENTITY: Unidentified = { reason: 'no-id', detail: WHY_UNUSABLE.missing, isMissing: true }

/** The keys of each identity but the first have a scope of their own: equal IDs of two identities are two keys. */
function keyReaderOf(
  consumer: ResolvedConsumer,
  group: string,
  { extract }: Identity,
  at: number,
): (incoming: Incoming) => string | Unidentified {
  const own = at === 0 ? [] : [Buffer.from(`identity ${at + 1}`)]
  const scopeOf = scopesBy((origin) => [...keyScope(consumer, group, origin), ...own])
  const isNumbered = consumer.store.keys === 'sequences'
  return (incoming) => {
    try {
      const extracted: unknown = atOnce('id', extract(incoming), ID_AT_ONCE)
      const id = idIn(extracted)
      if (id === undefined && extracted !== undefined && extracted !== null) return notAnId(extracted)
      // An object that only looks like bytes may throw here.
      const unusable = whyUnusable(id)
      if (id === undefined || unusable === 'missing') return NO_IDENTITY
      if (unusable !== undefined)
        return { reason: 'no-id', detail: `${WHY_UNUSABLE[unusable]}${placeOf(extract, incoming)}` }
      const scope = scopeOf(incoming.origin)
      return isNumbered ? (numberedKey(scope, id) ?? NOT_NUMBERED) : scope.of(id)
    } catch (error) {
      return incoming.problem ?? { reason: 'no-id', detail: `the ID extractor threw: ${describeError(error)}`, error }
    }
  }
}

/** The hash that payloads under one key are compared by. Text, or why there is none. Never throws. */
export function payloadHash({ identities }: ResolvedConsumer, message: Message): string | Unidentified {
  const [first] = identities
  return first === undefined ? NOT_COMPARED : hashBy(first, message)
}

function hashBy({ hashOf }: Identity, { value }: Message): string | Unidentified {
  try {
    return hashOf(value)
  } catch (error) {
    return { reason: 'no-id', detail: `onConflict.compare: ${describeError(error)}`, error }
  }
}

/**
 * Turns a delivery into a task. Key and payload digest are computed here, once, from the raw bytes, before the handler
 * can change anything.
 */
export function createIdentify(consumer: ResolvedConsumer, group: string): Identify {
  if (consumer.store.strategy === 'offsets') return identifyByPosition(consumer, group)
  if (consumer.identities.length > 1) return identifyBySeveral(consumer, group)
  const keyOf = createKeyReader(consumer, group)
  return (delivery, payload) => {
    const { message } = delivery
    const idempotencyKey = keyOf(message, payload)
    if (typeof idempotencyKey !== 'string') return idempotencyKey
    const hash = payloadHash(consumer, message)
    return typeof hash === 'string' ? new Task(delivery, idempotencyKey, hash) : hash
  }
}

/** All identities that the message has; the first of them names it. */
function identifyBySeveral(consumer: ResolvedConsumer, group: string): Identify {
  const readers = consumer.identities.map((identity, at) => ({
    identity,
    keyOf: keyReaderOf(consumer, group, identity, at),
  }))
  return (delivery, payload) => {
    const { message } = delivery
    const incoming = new Incoming(message, consumer, payload)
    let first: OtherIdentity | undefined
    let others: OtherIdentity[] | undefined
    let hashed: { readonly by: Identity['hashOf']; readonly hash: string } | undefined
    for (const { identity, keyOf } of readers) {
      const idempotencyKey = keyOf(incoming)
      if (incoming.notYet !== undefined) return incoming.notYet
      if (typeof idempotencyKey !== 'string') {
        if (!idempotencyKey.isMissing) return idempotencyKey
        continue
      }
      if (hashed?.by !== identity.hashOf) {
        const hash = hashBy(identity, message)
        if (typeof hash !== 'string') return hash
        hashed = { by: identity.hashOf, hash }
      }
      const found = { idempotencyKey, payloadHash: hashed.hash }
      if (first === undefined) first = found
      else (others ??= []).push(found)
    }
    if (first === undefined) return missing(consumer, incoming)
    return new Task(delivery, first.idempotencyKey, first.payloadHash, others && { others })
  }
}

function scopesBy(make: (name: string) => readonly Uint8Array[]): (name: string) => ScopeIdentity {
  const scopes = new Map<string, ScopeIdentity>()
  return (name) => {
    const known = scopes.get(name)
    if (known !== undefined) return known
    const scope = new ScopeIdentity(make(name))
    if (scopes.size >= SCOPES_KEPT) scopes.clear()
    scopes.set(name, scope)
    return scope
  }
}

/** Strategy `offsets`: the position identifies the message, so it needs no ID and no digest. */
function identifyByPosition(consumer: ResolvedConsumer, group: string): Identify {
  const scope = positionScope(consumer, group)
  const streamOf = scopesBy((stream) => [...scope, Buffer.from(stream)])
  return (delivery) => {
    const { position } = delivery
    // The start has checked that the source gives positions.
    if (position === undefined) return { reason: 'no-id', detail: 'the source gave no position' }
    const { stream, offset } = position
    return new Task(delivery, streamOf(stream).of(offset.toString()), NOT_COMPARED, { position })
  }
}

/** Ends the extractor; nobody sees it. */
const NOT_DECODED_YET = new Error('the payload is not decoded yet')

/** An object has the same text for every message. */
function notAnId(id: unknown): Unidentified {
  return { reason: 'no-id', detail: `the ID extractor: expected ${USABLE_AS_ID}, got ${foundInsteadOfId(id)}` }
}

function undecodable(error: unknown): Unidentified {
  return { reason: 'undecodable', detail: describeError(error), error }
}

/** The argument of an ID extractor. Fields of the message are delegated; the payload is decoded on first use. */
class Incoming implements IncomingMessage<unknown> {
  readonly #message: Message
  readonly #consumer: ResolvedConsumer
  #decoded: DecodedPayload | undefined
  /** Why the payload could not be decoded for the extractor. */
  problem: Unidentified | undefined
  /** Set when the extractor read a payload that is not decoded yet. What the extractor made of that does not count. */
  notYet: NotYet | undefined

  constructor(message: Message, consumer: ResolvedConsumer, decoded?: DecodedPayload) {
    this.#message = message
    this.#consumer = consumer
    this.#decoded = decoded
    this.problem = undefined
    this.notYet = undefined
  }

  get payload(): unknown {
    this.#decoded ??= { payload: this.#decode() }
    return this.#decoded.payload
  }

  #decode(): unknown {
    if (this.notYet !== undefined) throw NOT_DECODED_YET
    let payload: unknown
    try {
      payload = this.#consumer.decode(this.#message.value, this.#message)
    } catch (error) {
      if (isOutage(error)) this.#wait(Promise.reject(error))
      else this.problem = undecodable(error)
      throw error
    }
    if (!isThenable(payload)) return payload
    this.#wait(payload)
    throw NOT_DECODED_YET
  }

  #wait(payload: PromiseLike<unknown>): void {
    const answer = Promise.resolve(payload)
    // The caller needs the ID at once.
    unawaited(answer)
    this.notYet = new NotYet(answer)
  }

  get system(): Message['system'] {
    return this.#message.system
  }
  get destination(): string {
    return this.#message.destination
  }
  get origin(): string {
    return this.#message.origin
  }
  get position(): string {
    return this.#message.position
  }
  get key(): Uint8Array | null {
    return this.#message.key
  }
  get value(): Uint8Array | null {
    return this.#message.value
  }
  get headers(): Message['headers'] {
    return this.#message.headers
  }
  get messageId(): string | undefined {
    return this.#message.messageId
  }
  get timestamp(): number | undefined {
    return this.#message.timestamp
  }
  get firstTimestamp(): number | undefined {
    return this.#message.firstTimestamp
  }
  get redelivered(): boolean | undefined {
    return this.#message.redelivered
  }
}

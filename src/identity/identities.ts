import type { DurationMs } from '../core/units.ts'
import { payloadHashOf } from './digest.ts'
import { ConfigError } from '../foundation/errors.ts'
import { fieldsHash } from './fingerprint.ts'
import { traitsOf } from './id-traits.ts'
import type { IdExtractor } from '../ports/id-extractor.ts'
import { checkNames, shownText } from '../foundation/option-checks.ts'

/** What happens to a message with the ID of another one and a different payload. */
export type ConflictPolicy = 'dead-letter' | 'duplicate' | { readonly compare: readonly string[] }

/** Where an ID comes from, and by what hash two payloads under it are compared. The empty hash matches every other. */
export interface Identity {
  readonly extract: IdExtractor
  /** @throws an error for people if the payload cannot be compared */
  readonly hashOf: (value: Uint8Array | null) => string
}

/** One of several identities: an extractor, whose payloads are not compared, or what is compared under it. */
export type IdentityOption<Decoded = unknown> =
  | IdExtractor<Decoded>
  | {
      readonly id: IdExtractor<Decoded>
      /**
       * What must agree under this ID: the whole payload, or these parts of a JSON payload. A message that differs is a
       * conflict.
       * @defaultValue `nothing`
       */
      readonly compare?: 'payload' | 'nothing' | readonly string[]
    }

const NOT_COMPARED = (): string => ''

export function identitiesOf(id: unknown, onConflict: ConflictPolicy): readonly Identity[] {
  if (!Array.isArray(id)) return [identityBy(id as IdExtractor, onConflict)]
  return id.map((option: IdentityOption) => {
    const { id: extract, compare = 'nothing' } = typeof option === 'function' ? { id: option } : option
    if (compare === 'nothing') return identityBy(extract, 'duplicate')
    return identityBy(extract, compare === 'payload' ? 'dead-letter' : { compare })
  })
}

function identityBy(extract: IdExtractor, onConflict: ConflictPolicy): Identity {
  if (onConflict === 'duplicate') return { extract, hashOf: NOT_COMPARED }
  return { extract, hashOf: onConflict === 'dead-letter' ? payloadHashOf : fieldsHash(onConflict.compare) }
}

/** A fingerprint stands for the payload: what it leaves out may differ. Of several identities each says it itself. */
export function defaultOnConflict(id: unknown): ConflictPolicy {
  return Array.isArray(id) || traitsOf(id as IdExtractor).isFingerprint ? 'duplicate' : 'dead-letter'
}

/** The options that bear on the identity. */
interface IdentityOptions {
  readonly id?: unknown
  readonly onConflict?: unknown
  readonly mode?: unknown
  readonly onStoreDown?: unknown
  readonly sealResult?: unknown
  readonly rememberFailure?: unknown
  readonly store?: { readonly strategy?: unknown; readonly keys?: unknown; readonly marksFirst?: unknown } | undefined
}

export function problemsOfIdentity(options: IdentityOptions, retentionMs: DurationMs): readonly string[] {
  const { id, onConflict } = options
  if (Array.isArray(id)) return problemsOfSeveral(id, options, retentionMs)
  const problems = [...problemsOfConflict('onConflict', onConflict), ...problemsOfWindow(id, retentionMs)]
  if (typeof id === 'function' && traitsOf(id as IdExtractor).isFingerprint && onConflict === 'dead-letter') {
    problems.push(
      `onConflict: expected 'duplicate' or { compare } with a fingerprint, got "dead-letter": each repeat that differs in what the fingerprint omits would be dead-lettered; leave it out`,
    )
  }
  return problems
}

function problemsOfWindow(id: unknown, retentionMs: DurationMs): readonly string[] {
  const { windowMs } = typeof id === 'function' ? traitsOf(id as IdExtractor) : {}
  if (windowMs === undefined || windowMs < retentionMs) return []
  return [
    `retentionMs: expected more than the window of the message ID (${windowMs}), got ${retentionMs}: a repeat in the same window could run again`,
  ]
}

/** A message keeps one record for each identity: what needs one record for each message is refused. */
const NOT_WITH_SEVERAL: readonly (readonly [string, (options: IdentityOptions) => boolean, string])[] = [
  ['onConflict', ({ onConflict }) => onConflict !== undefined, 'say `compare` at each identity'],
  ['mode', ({ mode }) => mode === 'observe', 'its report counts one ID for each message'],
  [
    'onStoreDown',
    ({ onStoreDown }) => onStoreDown === 'run-unprotected',
    'its late marks have one key for each message',
  ],
  ['sealResult', ({ sealResult }) => sealResult !== undefined, 'a sealed result is bound to one key'],
  [
    'rememberFailure',
    ({ rememberFailure, store }) => rememberFailure !== undefined && store?.strategy === 'inbox',
    'an inbox keeps a failure under one key',
  ],
  [
    'store',
    ({ store }) => store?.marksFirst === true,
    'it marks before the handler, so two processes that get one key each would both take the message for done, and none would run it',
  ],
  ['store', ({ store }) => store?.keys === 'sequences', 'a store of sequences knows a message by sender and number'],
]

const MOST_IDENTITIES = 8

function problemsOfSeveral(
  identities: readonly unknown[],
  options: IdentityOptions,
  retentionMs: DurationMs,
): readonly string[] {
  const problems: string[] = []
  if (identities.length === 0 || identities.length > MOST_IDENTITIES) {
    problems.push(`id: expected 1 to ${MOST_IDENTITIES} identities, got ${identities.length}`)
  }
  for (const [at, option] of identities.entries()) {
    const name = `id[${at}]`
    if (typeof option !== 'function' && typeof (option as { readonly id?: unknown } | null)?.id !== 'function') {
      problems.push(`${name}: expected an ID extractor, or { id, compare }, got ${shownText(option)}`)
      continue
    }
    const { id, compare } =
      typeof option === 'function' ? { id: option } : (option as { id: unknown; compare?: unknown })
    if (typeof option !== 'function') {
      const given = option as Exclude<IdentityOption, IdExtractor>
      checkNames(`${name}.`, given, { of: 'defineConsumer()', known: { id, compare } }, problems)
    }
    if (compare !== undefined && compare !== 'payload' && compare !== 'nothing') {
      problems.push(...problemsOfConflict(name, { compare }))
    }
    problems.push(...problemsOfWindow(id, retentionMs))
  }
  for (const [option, isGiven, why] of NOT_WITH_SEVERAL) {
    if (isGiven(options)) problems.push(`${option}: not possible with several identities (id): ${why}`)
  }
  return problems
}

function problemsOfConflict(name: string, onConflict: unknown): readonly string[] {
  if (onConflict === undefined || onConflict === 'dead-letter' || onConflict === 'duplicate') return []
  const problems: string[] = []
  if (typeof onConflict === 'object' && onConflict !== null) {
    const given = onConflict as { readonly compare?: unknown }
    checkNames(`${name}.`, given, { of: 'defineConsumer()', known: { compare: true } }, problems)
    if (problems.length > 0) return problems
  }
  if (typeof onConflict !== 'object' || onConflict === null || !('compare' in onConflict)) {
    return [`onConflict: expected 'dead-letter', 'duplicate' or { compare: ['/amount'] }, got ${shownText(onConflict)}`]
  }
  const { compare } = onConflict
  if (!Array.isArray(compare)) {
    problems.push(`${name}.compare: expected an array of JSON Pointers such as "/amount", got ${shownText(compare)}`)
    return problems
  }
  try {
    fieldsHash(compare as readonly string[])
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    problems.push(...error.problems.map((problem) => problem.replace(/^include/, `${name}.compare`)))
  }
  return problems
}

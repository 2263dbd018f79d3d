import type { DurationMs } from '../core/units.ts'
import { payloadHashOf } from './digest.ts'
import { fieldsHash } from './fingerprint.ts'
import { traitsOf } from './id-traits.ts'
import type { IdExtractor } from '../ports/id-extractor.ts'
import { either, func, listOf, needed, object, oneOf, or, type Rule, type Table } from '../foundation/options.ts'
import { POINTERS } from './payload-id.ts'

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

type OfSeveral<Decoded> = Exclude<IdentityOption<Decoded>, IdExtractor<Decoded>>

const OF_SEVERAL: Table<OfSeveral<unknown>> = {
  id: needed(func()),
  compare: or('nothing', either(oneOf('payload', 'nothing'), POINTERS)),
}

/** The option `id` of a consumer. */
export const ID: Rule<IdExtractor | readonly [IdentityOption, ...IdentityOption[]]> = either(
  func<IdExtractor>('an ID extractor'),
  listOf<IdentityOption, readonly [IdentityOption, ...IdentityOption[]]>(
    either(func<IdExtractor>('an ID extractor'), object(OF_SEVERAL)),
    { least: 1, most: 8, what: 'identities' },
  ),
)

/** The option `onConflict` of a consumer. */
export const ON_CONFLICT: Rule<ConflictPolicy> = either(
  oneOf('dead-letter', 'duplicate'),
  object<{ readonly compare: readonly string[] }, never>({ compare: needed(POINTERS) }),
)

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
  const problems = problemsOfWindow(id, retentionMs)
  if (typeof id === 'function' && traitsOf(id as IdExtractor).isFingerprint && onConflict === 'dead-letter') {
    problems.push(
      `onConflict: expected "duplicate" or { compare } with a fingerprint, got "dead-letter": each repeat that differs in what the fingerprint omits would be dead-lettered; leave it out`,
    )
  }
  return problems
}

function problemsOfWindow(id: unknown, retentionMs: DurationMs): string[] {
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

function problemsOfSeveral(
  identities: readonly IdentityOption[],
  options: IdentityOptions,
  retentionMs: DurationMs,
): readonly string[] {
  const problems = identities.flatMap((one) => problemsOfWindow(typeof one === 'function' ? one : one.id, retentionMs))
  for (const [option, isGiven, why] of NOT_WITH_SEVERAL) {
    if (isGiven(options)) problems.push(`${option}: not possible with several identities (id): ${why}`)
  }
  return problems
}

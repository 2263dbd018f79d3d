import {
  adminOf,
  type Admin,
  type ConfiguredConsumer,
  type Inspected,
  type Key,
  type RecordRef,
} from '../../src/index.ts'
import { definitionOf } from '../../src/consumer/define-consumer.ts'
import { type ListedState, type RecordPage } from '../../src/internal.ts'
import { keyIn, keyLength, type KeysOf } from '../../src/records/key-in.ts'
import { misuse } from '../exit.ts'
import { readIds } from '../parse.ts'
import type { Session } from '../session.ts'
import { EachOnce } from '../../src/records/each-once.ts'

export interface RefFlags {
  /** The arguments are keys, or their first characters, as logs and lists show them. */
  readonly key: boolean
  readonly origin?: string
  readonly rawIds?: boolean
}

/** The records to ask for, and the session with its time limit. */
export interface Asked {
  readonly session: Session
  readonly admin: Admin
}

interface AskedOf extends Asked {
  readonly entry: ConfiguredConsumer
}

/** What the keys of its store are made of. */
export function keysOfStore({ consumer }: ConfiguredConsumer): NonNullable<KeysOf> {
  return definitionOf(consumer).store.keys ?? 'ids'
}

const PAGE = 1_000
const CANDIDATES = 10

/** The states that are searched for a key of which only the beginning is known. */
const SEARCHED = ['parked', 'in-doubt', 'processing', 'given-up'] as const

/**
 * Messages by ID, or by key. A single `-` reads one per line from standard input. Asks the store only for what may be either, and for
 * incomplete keys.
 */
export async function refsOf(
  { session, admin, entry }: AskedOf,
  given: readonly string[],
  flags: RefFlags,
): Promise<readonly RecordRef[]> {
  const texts = given.length === 1 && given[0] === '-' ? readIds('ids', '-', { isRaw: flags.rawIds === true }) : given
  if (texts.length === 0) throw misuse('expected at least one message ID, got none')
  if (!flags.key) return idsOrKeys({ session, admin, entry }, texts)
  const of = keysOfStore(entry)
  const keys = texts.map((text) => keyIn(text, of) ?? text)
  for (const key of keys) checkKey(key, of)
  const isPart = (key: string): boolean => key.length < keyLength(of)
  const wholeBy = await wholeKeys({ session, admin, entry }, new Set(keys.filter(isPart)))
  return keys.map((key) => ({ key: wholeBy.get(key) ?? key }))
}

/** An ID that looks like a key is one if it has a record. */
async function idsOrKeys({ session, admin, entry }: AskedOf, texts: readonly string[]): Promise<readonly RecordRef[]> {
  const of = keysOfStore(entry)
  const keyed = new Map(texts.flatMap((text) => withKey(text, of)))
  if (keyed.size === 0) return texts
  if (of === 'sequences') return texts.map((text) => (keyed.has(text) ? { key: keyed.get(text) ?? '' } : text))
  const ids = [...keyed.keys()]
  const inspect = (refs: readonly RecordRef[]): Promise<readonly Inspected[]> => session.answer(admin.inspect(refs))
  const known = new Set((await inspect(ids)).filter(isKnown).map(({ ref }) => ref))
  const unknown = ids.filter((id) => !known.has(id))
  const byKey = await inspect(unknown.map((id) => ({ key: keyed.get(id) ?? '' })))
  const keys = new Set(byKey.filter(isKnown).map(({ key }) => key))
  return texts.map((text) => {
    const key = keyed.get(text)
    return key !== undefined && !known.has(text) && keys.has(key) ? { key } : text
  })
}

function withKey(text: string, of: KeysOf): readonly (readonly [text: string, key: Key])[] {
  const key = keyIn(text, of)
  return key === undefined ? [] : [[text, key]]
}

function isKnown({ state, scope }: Inspected): boolean {
  return state !== 'absent' || scope === 'another'
}

/** The keys that a text may stand for: those of a message ID under each origin, and one that it is itself. Their records may be gone. */
export async function keysFor(
  session: Session,
  entry: ConfiguredConsumer,
  text: string,
  { origin }: Pick<RefFlags, 'origin'>,
): Promise<ReadonlySet<Key>> {
  const of = keysOfStore(entry)
  const keys = new Set(withKey(text, of).map(([, key]) => key))
  if (of === 'sequences' && keys.size > 0) return keys
  for (const one of origin === undefined ? entry.subscription.origins : [origin]) {
    const records = await session.answer(adminFor(entry, { origin: one }).inspect([text]))
    for (const { key } of records) keys.add(key)
  }
  return keys
}

export function checkKey(text: string, of: KeysOf): void {
  if (text.length <= keyLength(of) && /^[\w-]{4,}$/.test(text)) return
  const keys = `${keyText(of)}, or its first 4 characters or more${of === 'sequences' ? '' : ', or an idempotency key of 43'}`
  throw misuse(`--key: expected ${keys}, got ${JSON.stringify(text)}`)
}

function keyText(of: KeysOf): string {
  return `a key of ${keyLength(of)} characters of base64url`
}

/** The key that a key or an idempotency key stands for. @throws CommandError, exit 2 */
export function wholeKeyOf(option: string, text: string, of: KeysOf): Key {
  const key = keyIn(text, of)
  if (key !== undefined) return key
  const keys = `${keyText(of)}, as lists show it${of === 'sequences' ? '' : ', or an idempotency key of 43'}`
  throw misuse(`${option}: expected ${keys}, got ${JSON.stringify(text)}; a message ID goes into --ids-from`)
}

/** Finds the keys with the given beginnings. Done records are not searched: there may be millions. */
async function wholeKeys(asked: AskedOf, beginnings: ReadonlySet<string>): Promise<ReadonlyMap<string, string>> {
  const found = new Map([...beginnings].map((text) => [text, new Set<string>()]))
  if (beginnings.size > 0) {
    for (const state of SEARCHED) {
      for await (const { key } of recordsIn(asked, state)) {
        for (const [text, keys] of found) if (key.startsWith(text)) keys.add(key)
      }
    }
  }
  return new Map([...found].map(([text, keys]) => [text, onlyOne(text, [...keys], keysOfStore(asked.entry))]))
}

function onlyOne(text: string, keys: readonly string[], of: KeysOf): string {
  const [key, another] = keys
  const given = `--key ${JSON.stringify(text)}`
  if (key === undefined) {
    const states = `${SEARCHED.slice(0, -1).join(', ')} or ${SEARCHED.at(-1)}`
    const problem = `${given}: no key of what is ${states} begins so; give all ${keyLength(of)} characters for what is done`
    throw misuse(problem)
  }
  if (another === undefined) return key
  const more = keys.length > CANDIDATES ? ` and ${keys.length - CANDIDATES} more` : ''
  const shown = keys.slice(0, CANDIDATES).join(', ')
  throw misuse(`${given} is the beginning of ${keys.length} keys: ${shown}${more}; give more characters`)
}

/** All records in a state, page by page, each within the session's time limit. */
export async function* recordsIn(
  { session, admin }: Asked,
  state: ListedState,
): AsyncGenerator<RecordPage['records'][number]> {
  const once = new EachOnce()
  let after: string | undefined
  do {
    const { records, next } = await session.answer(admin.list({ state, limit: PAGE, after }))
    yield* once.of(records)
    after = next
  } while (after !== undefined)
}

/** @throws ConfigError if the store has no `admin` */
export function adminFor(
  { consumer, subscription: from }: ConfiguredConsumer,
  { origin }: Pick<RefFlags, 'origin'>,
): Admin {
  return adminOf(consumer, origin === undefined ? from : { ...from, origins: [origin] })
}

/** The reference as it was given. */
export function nameOf(ref: Inspected['ref']): string {
  if (typeof ref === 'string') return ref
  return ref instanceof Uint8Array ? Buffer.from(ref).toString('utf8') : ref.key
}

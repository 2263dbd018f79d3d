import { hash } from 'node:crypto'
import type { Claim } from '../../../src/internal.ts'

/** Stands between the token of an owner and the tag of its scope. No token has it. */
export const BEFORE_TAG = '~'

/** 48 bits: two of a thousand scopes share a tag once in 500 million prefixes. */
const TAG_CHARACTERS = 8

/** Length of what a tag adds to a token. */
export const ADDED_BY_TAG: number = BEFORE_TAG.length + TAG_CHARACTERS

/** The tag of the last scope: a call is about one scope, and scopes are too many to keep (`once` takes any). */
let last = { scope: '', tag: digestOf('') }

/** What a record keeps of its scope. */
export function tagOf(scope: string): string {
  if (last.scope !== scope) last = { scope, tag: digestOf(scope) }
  return last.tag
}

/**
 * The owner of a record: the token of its claim, and the tag of its scope.
 */
export function ownerOf({ token, scope }: Pick<Claim, 'token' | 'scope'>): string {
  return token + BEFORE_TAG + tagOf(scope)
}

/** The tag in an owner; `undefined`: the record is done. */
export function tagIn(owner: string): string | undefined {
  return /^[^\n~]*~([\w-]+)/.exec(owner)?.[1]
}

function digestOf(scope: string): string {
  return hash('sha256', scope, 'base64url').slice(0, TAG_CHARACTERS)
}

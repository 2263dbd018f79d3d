import { createHmac, timingSafeEqual } from 'node:crypto'
import { atOnce } from '../foundation/at-once.ts'
import { traitsOf, withTraits } from './id-traits.ts'
import { ID_AT_ONCE, idIn } from './id-value.ts'
import type { IdExtractor } from './message-id.ts'
import { func, listOf, needed, optionsOf, where, type Rule, type Table } from '../foundation/options.ts'

export interface SignedIdOptions<Decoded = unknown> {
  /** Extracts the signed message ID. */
  readonly id: IdExtractor<Decoded>
  /** Extracts the HMAC-SHA-256 of the ID's bytes: the 32 bytes themselves, or base64, base64url or hexadecimal text. */
  readonly signature: IdExtractor<Decoded>
  /** The accepted secrets, each at least 16 bytes. Give several while you rotate them. */
  readonly secrets: readonly (string | Uint8Array)[]
}

const SHORTEST_SECRET = 16
const SIGNATURE_BYTES = 32

/** No problem contains the secrets themselves. */
export const SECRETS: Rule<readonly (string | Uint8Array)[]> = listOf(
  where(`text or bytes, of ${SHORTEST_SECRET} bytes or more`, isSecret, { got: (secret) => typeof secret }),
  { least: 1, what: 'secrets' },
)

const SIGNED_ID: Table<SignedIdOptions<never>> = {
  id: needed(func()),
  signature: needed(func()),
  secrets: needed(SECRETS),
}

function isSecret(secret: unknown): boolean {
  if (typeof secret === 'string') return Buffer.byteLength(secret) >= SHORTEST_SECRET
  return secret instanceof Uint8Array && secret.length >= SHORTEST_SECRET
}

/**
 * Accepts an ID only from senders who know a secret. Without it anyone who can publish could use up the IDs of others,
 * because the first message with an ID is the one that is handled. Any other ID is not usable, and its message is
 * dead-lettered as `no-id`. The signature covers the ID, not the payload, and a captured signature can be sent again.
 *
 * @throws ConfigError `CONFIG_INVALID`
 */
export function signedId<Decoded = unknown>(options: SignedIdOptions<Decoded>): IdExtractor<Decoded> {
  const { id, signature, secrets } = optionsOf('signedId', SIGNED_ID, options as never) as SignedIdOptions<Decoded>
  return withTraits((message) => {
    const taken = idIn(atOnce('signedId.id', id(message), ID_AT_ONCE))
    if (taken === undefined) return undefined
    const given = signatureBytes(atOnce('signedId.signature', signature(message), ID_AT_ONCE))
    // Throw, so that no other extractor is tried.
    if (given === undefined) throw new Error('expected a signature of 32 bytes with the message ID, got none')
    const isSigned = secrets.some((secret) => {
      return timingSafeEqual(createHmac('sha256', secret).update(taken).digest(), given)
    })
    if (!isSigned) throw new Error('the signature of the message ID was made with no secret that is known here')
    return taken
  }, traitsOf(id))
}

function signatureBytes(given: string | Uint8Array | undefined): Uint8Array | undefined {
  if (given === undefined || given.length === SIGNATURE_BYTES) return typeof given === 'string' ? undefined : given
  // Kafka headers are bytes, even if they hold text.
  const text = typeof given === 'string' ? given : Buffer.from(given).toString('latin1')
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex')
  return /^[\w+/-]{43}=?$/.test(text) ? Buffer.from(text, 'base64') : undefined
}

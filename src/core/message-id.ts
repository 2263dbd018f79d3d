import { MAX_ID_BYTES } from './key.ts'

export type UnusableId = 'missing' | 'blank' | 'too-long' | 'ill-formed'

/** Messages for people. */
export const WHY_UNUSABLE: Readonly<Record<UnusableId, string>> = {
  missing: 'no message ID',
  blank: 'the message ID is blank',
  'too-long': 'the message ID is longer than 512 bytes',
  'ill-formed': 'the message ID holds a lone surrogate',
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/**
 * The bytes of a message ID, or why it is not usable. IDs are compared as bytes, without Unicode folding or trimming,
 * so `Order-1`, `order-1` and `order-1 ` are three messages.
 */
export function idBytes(id: string | Uint8Array | null | undefined): Uint8Array | UnusableId {
  const unusable = whyUnusable(id)
  if (unusable !== undefined) return unusable
  return typeof id === 'string' ? encoder.encode(id) : (id as Uint8Array)
}

/** `undefined`: usable. A lone surrogate is not usable because every one encodes to the same bytes. */
export function whyUnusable(id: string | Uint8Array | null | undefined): UnusableId | undefined {
  if (id === undefined || id === null || id.length === 0) return 'missing' // mutant: undefined-hashed-as-an-id
  if (typeof id === 'string' && !id.isWellFormed()) return 'ill-formed'
  if (isBlank(id)) return 'blank'
  return isTooLong(id) ? 'too-long' : undefined
}

function isTooLong(id: string | Uint8Array): boolean {
  if (id.length > MAX_ID_BYTES) return true
  // A character takes up to three bytes.
  return typeof id === 'string' && id.length * 3 > MAX_ID_BYTES && encoder.encode(id).length > MAX_ID_BYTES
}

function isBlank(id: string | Uint8Array): boolean {
  if (id.length > MAX_ID_BYTES || startsLikeText(id)) return false
  return (typeof id === 'string' ? id : decoder.decode(id)).trim() === ''
}

/** An ID whose first character is printable ASCII is not blank; skip the full check. */
function startsLikeText(id: string | Uint8Array): boolean {
  const first = typeof id === 'string' ? id.charCodeAt(0) : (id[0] ?? 0)
  return first > 0x20 && first < 0x7f
}

import { MAX_ID_BYTES } from './key.ts'

export type UnusableId = 'missing' | 'blank' | 'too-long' | 'ill-formed'

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/**
 * The bytes of a message ID, or why it cannot be one. Compared as bytes: no Unicode folding, no trimming, so `Order-1`,
 * `order-1` and `order-1 ` are three messages. A string with a lone surrogate has no bytes of its own (it would be
 * encoded like any other), hence `ill-formed`.
 */
export function idBytes(id: string | Uint8Array | null | undefined): Uint8Array | UnusableId {
  if (id === undefined || id === null || id.length === 0) return 'missing'
  if (typeof id === 'string' && !id.isWellFormed()) return 'ill-formed'
  if (isBlank(id)) return 'blank'
  const bytes = typeof id === 'string' ? encoder.encode(id) : id
  return bytes.length > MAX_ID_BYTES ? 'too-long' : bytes
}

function isBlank(id: string | Uint8Array): boolean {
  if (id.length > MAX_ID_BYTES) return false
  const text = typeof id === 'string' ? id : startsLikeText(id) ? 'text' : decoder.decode(id)
  return text.trim() === ''
}

/** A first byte that is printable ASCII spares decoding. */
function startsLikeText(id: Uint8Array): boolean {
  const first = id[0] ?? 0
  return first > 0x20 && first < 0x7f
}

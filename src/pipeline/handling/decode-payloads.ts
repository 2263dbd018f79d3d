import type { Unidentified } from '../intake/identify.ts'
import type { Decoded, Decoding } from './decoding.ts'
import type { RunItem } from './handler-run.ts'

/** A message of a run whose payload cannot be decoded, and what follows. */
export type Undecoded =
  | ({ readonly item: RunItem; readonly next: 'set-aside' } & Unidentified)
  | { readonly item: RunItem; readonly next: 'again'; readonly error: unknown }

export type Unreadable = Extract<Undecoded, { next: 'set-aside' }>

/**
 * Decodes and checks the payloads of one run together, and stores them in its items. Returns the items that failed, or a
 * promise of them if a decoder or a schema answers later. Never throws, never rejects.
 */
export function decodePayloads(
  items: readonly RunItem[],
  decoding: Decoding,
): readonly Undecoded[] | Promise<readonly Undecoded[]> {
  let undecoded: Undecoded[] | undefined
  let late: Promise<Undecoded | undefined>[] | undefined
  for (const item of items) {
    const decoded = decoding.decode(item.task.message)
    if (decoded instanceof Promise) {
      ;(late ??= []).push(decoded.then((answer) => write(item, answer, decoding)))
      continue
    }
    const problem = write(item, decoded, decoding)
    if (problem !== undefined) (undecoded ??= []).push(problem)
  }
  if (late === undefined) return undecoded ?? NONE
  return Promise.all(late).then((all) => [...(undecoded ?? NONE), ...all.filter((one) => one !== undefined)])
}

const NONE: readonly Undecoded[] = []

function write(item: RunItem, decoded: Decoded, decoding: Decoding): Undecoded | undefined {
  if (decoded.is === 'unanswered') return { item, next: 'again', error: decoded.error }
  if (decoding.isDown) decoding.done(item.task)
  if (decoded.is === 'refused') return { item, next: 'set-aside', ...decoded.why }
  item.payload = decoded.payload
  return undefined
}

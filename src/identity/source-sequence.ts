import { whyUnusable } from '../core/message-id.ts'
import { HIGHEST_NUMBER } from '../core/sequence.ts'
import { atOnce } from '../foundation/at-once.ts'
import { func, needed, optionsOf, type Table } from '../foundation/options.ts'
import type { IdExtractor } from '../ports/id-extractor.ts'
import type { Message } from '../ports/message.ts'
import { traitsOf, withTraits } from './id-traits.ts'
import { foundInsteadOfId, ID_AT_ONCE, idIn } from './id-value.ts'
import { numberedId } from './sequence-key.ts'

/** As `IncomingMessage`. */
type Incoming<Decoded> = Message & { readonly payload: Decoded }

export interface SourceSequenceOptions<Decoded = unknown> {
  /**
   * The sender of the message, as text or UTF-8: any ID extractor, such as `messageId.header('device')`. If a sender
   * may count from the start again, its source must change with it: a start time, an epoch or a boot ID is part of the
   * text.
   */
  readonly source: (message: Incoming<Decoded>) => string | Uint8Array | undefined
  /**
   * The number of the message, 0 to 2^64-1, as a bigint, a safe integer or text of decimal digits: a function, or an ID
   * extractor such as `messageId.header('sequence')`. A sender gives no two messages the same number.
   */
  readonly sequence: (message: Incoming<Decoded>) => string | Uint8Array | bigint | number | undefined
}

const SOURCE_SEQUENCE: Table<SourceSequenceOptions<never>> = { source: needed(func()), sequence: needed(func()) }

/** Longer text of digits is no number that fits. */
const DIGITS = /^\d{1,40}$/

/**
 * Makes the ID `number:source`, such as `17:meter-4`. Leading zeros of the number do not count. A message without a
 * source or a number has no usable ID and is dead-lettered.
 *
 * @throws ConfigError `CONFIG_INVALID`
 */
export function sourceSequence<Decoded = unknown>(
  options: SourceSequenceOptions<Decoded>,
): (message: Incoming<Decoded>) => string | undefined {
  const given = optionsOf(
    'messageId.sourceSequence',
    SOURCE_SEQUENCE,
    options as never,
  ) as SourceSequenceOptions<Decoded>
  const source = (message: Incoming<Decoded>): ReturnType<typeof given.source> =>
    atOnce('sourceSequence.source', given.source(message), ID_AT_ONCE)
  const sequence = (message: Incoming<Decoded>): ReturnType<typeof given.sequence> =>
    atOnce('sourceSequence.sequence', given.sequence(message), ID_AT_ONCE)
  const extract = (message: Incoming<Decoded>): string | undefined => {
    const [name, number] = [textOf(idIn(source(message))), numberOf(sequence(message))]
    return name === undefined || number === undefined ? undefined : numberedId({ source: name, number })
  }
  return withTraits(extract, {
    explain: (explained) => {
      const message = explained as Incoming<Decoded>
      if (textOf(idIn(source(message))) === undefined) return `no usable source: ${whyNot(given.source, message)}`
      return `no usable sequence, a whole number from 0 to 2^64 - 1: ${whyNot(given.sequence, message)}`
    },
  })
}

function whyNot<Decoded>(extract: (message: Incoming<Decoded>) => unknown, message: Incoming<Decoded>): string {
  const { explain } = traitsOf(extract as IdExtractor<never>)
  return explain?.(message) ?? `its function returned ${foundInsteadOfId(extract(message))}`
}

function textOf(value: string | Uint8Array | null | undefined): string | undefined {
  if (value === undefined || value === null) return undefined
  const text = typeof value === 'string' ? value : utf8Of(value)
  return whyUnusable(text) === undefined ? text : undefined
}

function numberOf(value: string | Uint8Array | bigint | number | null | undefined): bigint | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : undefined
  const number = typeof value === 'bigint' ? value : digitsOf(value)
  return number !== undefined && number >= 0n && number <= HIGHEST_NUMBER ? number : undefined
}

function digitsOf(value: string | Uint8Array): bigint | undefined {
  const text = typeof value === 'string' ? value : utf8Of(value)
  return text !== undefined && DIGITS.test(text) ? BigInt(text) : undefined
}

/** Invalid bytes would become the same character, so two sources would become one. */
function utf8Of(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

import type { EpochMs } from '../core/units.ts'
import { timeIn } from '../foundation/clock.ts'
import type { DeadLetterFacts } from '../ports/replay.ts'
import { COPY_HEADER, type CopyHeader } from './vocabulary.ts'

type Headers = Readonly<Record<string, unknown>>

const MOST_TEXT = 1_024

/** The first value as text; `undefined` if there is none, if it is empty, or if it is neither text nor bytes. */
export function headerText(headers: Headers, name: string): string | undefined {
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined
  const first: unknown = Array.isArray(value) ? value[0] : value
  const text = first instanceof Uint8Array ? utf8Of(first) : first
  return typeof text === 'string' && text !== '' ? text : undefined
}

export function copyText(headers: Headers, name: CopyHeader): string | undefined {
  return headerText(headers, name)
}

/** `undefined` for anything but a safe whole number from 0, or its digits. */
export function copyNumber(headers: Headers, name: CopyHeader): number | undefined {
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined
  const number = typeof value === 'number' ? value : digitsOf(copyText(headers, name))
  return Number.isSafeInteger(number) && Number(number) >= 0 ? number : undefined
}

export function copyFlag(headers: Headers, name: CopyHeader): boolean {
  return copyText(headers, name) === 'true' || (Object.hasOwn(headers, name) && headers[name] === true)
}

/** `undefined` for text that is no time. */
export function copyTime(headers: Headers, name: CopyHeader): EpochMs | undefined {
  return timeIn(copyText(headers, name))
}

/** What a dead letter of the library says about itself; `undefined`: it is none. */
export function deadLetterIn(headers: Headers): Omit<DeadLetterFacts, 'destination'> | undefined {
  const reason = copyText(headers, COPY_HEADER.reason)
  if (reason === undefined) return undefined
  return {
    reason: reason.slice(0, MOST_TEXT),
    parked: copyFlag(headers, COPY_HEADER.parked),
    since: copyTime(headers, COPY_HEADER.setAsideAt) ?? copyTime(headers, COPY_HEADER.deadLetteredAt),
    consumer: copyText(headers, COPY_HEADER.consumer)?.slice(0, MOST_TEXT),
    group: (copyText(headers, COPY_HEADER.group) ?? copyText(headers, COPY_HEADER.originQueue))?.slice(0, MOST_TEXT),
  }
}

function digitsOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,16}$/.test(text) ? Number(text) : undefined
}

function utf8Of(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
}

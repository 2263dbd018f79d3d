import type { Cause } from '../core/record.ts'
import { errorClass } from '../errors.ts'
import type { Message } from '../ports/message.ts'
import { redactedDetail } from './redact.ts'

const LONGEST = 1_024

/** A class, and what it said. A detail of the library's own has no class before it. */
const TOLD = /^([A-Z][\w$]*): (.*)$/s

/** What a record keeps of a failure. Without what the text repeats of the message: records are kept for long, and shown. */
export function causeOf(
  { detail, error }: { readonly detail: string; readonly error?: unknown },
  message: Message,
): Cause {
  const said = redactedDetail({ detail, error }, message).replaceAll('\0', ' ').toWellFormed()
  const cause = error === undefined ? said : `${errorClass(error)}: ${said}`
  return cause.length > LONGEST ? `${cause.slice(0, LONGEST - 1).toWellFormed()}…` : cause
}

/** What a letter says of a cause: the same as the letter of the failure itself. */
export function toldOfCause(cause: Cause): { readonly detail: string; readonly errorClass?: string } {
  const [, name, said] = TOLD.exec(cause) ?? []
  return name === undefined || said === undefined ? { detail: cause } : { detail: said, errorClass: name }
}

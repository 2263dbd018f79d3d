import type { Cause } from '../../core/record.ts'
import { errorClass } from '../../foundation/errors.ts'
import type { Message } from '../../ports/message.ts'
import { redactedDetail } from './redact.ts'

const LONGEST = 1_024

/** A class name and a message. A detail written by the library has no class name. */
const TOLD = /^([A-Z][\w$]*): (.*)$/s

/**
 * The failure text that a record keeps. Parts that repeat the message are removed: records are kept for long, and shown
 * to people.
 */
export function causeOf(
  { detail, error }: { readonly detail: string; readonly error?: unknown },
  message: Message,
): Cause {
  const said = redactedDetail({ detail, error }, message).replaceAll('\0', ' ').toWellFormed()
  const cause = error === undefined ? said : `${errorClass(error)}: ${said}`
  return cause.length > LONGEST ? `${cause.slice(0, LONGEST - 1).toWellFormed()}…` : cause
}

/**
 * The fields of a dead letter for a stored cause. They equal those of the letter that was written for the failure
 * itself.
 */
export function toldOfCause(cause: Cause): { readonly detail: string; readonly errorClass?: string } {
  const [, name, said] = TOLD.exec(cause) ?? []
  return name === undefined || said === undefined ? { detail: cause } : { detail: said, errorClass: name }
}

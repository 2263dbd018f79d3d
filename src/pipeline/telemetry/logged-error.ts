import { describeError, errorClass } from '../../foundation/errors.ts'
import type { Message } from '../../ports/message.ts'
import { framesOf } from '../../foundation/safe-cause.ts'
import { redactedError } from './redact.ts'

/** Number of stack frames in a log line. */
const FRAMES_SHOWN = 10

/**
 * The fields of any thrown value that a log shows. `type` is for plain log lines. pino's serializer for `err` takes
 * `name` if an object has no constructor, so the result has no prototype. No other field of the error is copied,
 * because a user's field may hold a payload.
 *
 * @param about - the message that the error is about; parts of the text that repeat it are removed
 */
export function loggedError(error: unknown, about?: Message): object {
  const type = errorClass(error)
  const { code, stack } = detailsOf(error)
  const message = about === undefined ? describeError(error) : redactedError(error, about)
  return Object.assign(Object.create(null), { type, name: type, message, code, stack }) as object
}

/** A getter of a user's error must not cause a second exception. */
function detailsOf(error: unknown): {
  readonly code?: string | number | undefined
  readonly stack?: string | undefined
} {
  if (typeof error !== 'object' || error === null) return {}
  try {
    const { code, stack, message } = error as Readonly<Record<'code' | 'stack' | 'message', unknown>>
    return {
      code: typeof code === 'string' || typeof code === 'number' ? code : undefined,
      stack: framesOf(stack, message, FRAMES_SHOWN).join('\n') || undefined,
    }
  } catch {
    return {}
  }
}

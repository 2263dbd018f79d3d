import { describeError, errorClass } from '../errors.ts'
import type { Message } from '../ports/message.ts'
import { framesOf } from '../safe-cause.ts'
import { redactedError } from './redact.ts'

/** Of a stack: where it was thrown, and who called. */
const FRAMES_SHOWN = 10

/**
 * What a log shows of anything that was thrown. `type` for lines as they are, `name` for pino, whose serializer for `err` takes
 * that where an object has no constructor: hence no prototype. Nothing else of the error: what a user adds may hold a payload.
 *
 * @param about - what it was thrown for, which its text may repeat
 */
export function loggedError(error: unknown, about?: Message): object {
  const type = errorClass(error)
  const { code, stack } = detailsOf(error)
  const message = about === undefined ? describeError(error) : redactedError(error, about)
  return Object.assign(Object.create(null), { type, name: type, message, code, stack }) as object
}

/** A getter of the user's must not throw in place of what was thrown. */
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

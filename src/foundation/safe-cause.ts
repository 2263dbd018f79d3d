import { withoutSecrets } from './without-secrets.ts'

const DEEPEST = 5
const MOST_ERRORS = 10
const LONGEST_TEXT = 2 * 1024
const LONGEST_FIELD = 100
const MOST_FRAMES = 20

/** Fields that distinguish errors of clients and cannot contain a value that was passed to the client. */
const FIELDS = ['code', 'errno', 'sqlState', 'severity', 'syscall', 'type', 'retriable'] as const

/**
 * A safe copy of a client's error, used as the `cause` of an error of the library: its name, message, code and frames.
 * Clients put their arguments into their errors: commands (ioredis: `AUTH user password`), addresses, statements.
 * Passwords in the message are removed.
 */
export function safeCause(cause: unknown, depth = 0): unknown {
  if (typeof cause === 'string') return withoutSecrets(cause.slice(0, LONGEST_TEXT))
  if (typeof cause !== 'object' || cause === null) return cause
  if (depth >= DEEPEST) return undefined
  try {
    return copyOf(cause as Readonly<Record<string, unknown>>, depth)
  } catch {
    return new Error('an error that cannot be read')
  }
}

function copyOf(cause: Readonly<Record<string, unknown>>, depth: number): Error {
  const { name, message, stack } = cause
  const text = withoutSecrets(typeof message === 'string' ? message.slice(0, LONGEST_TEXT) : '')
  const copy = new Error(text)
  const called = typeof name === 'string' ? name.slice(0, LONGEST_FIELD) : 'Error'
  hide(copy, 'name', called)
  const head = text === '' ? called : `${called}: ${text}`
  hide(copy, 'stack', [head, ...framesOf(stack, message)].join('\n'))
  for (const field of FIELDS) {
    const value = cause[field]
    if (typeof value === 'string') Object.assign(copy, { [field]: withoutSecrets(value.slice(0, LONGEST_FIELD)) })
    else if (typeof value === 'number' || typeof value === 'boolean') Object.assign(copy, { [field]: value })
  }
  if (cause['cause'] !== undefined) hide(copy, 'cause', safeCause(cause['cause'], depth + 1))
  if (Array.isArray(cause['errors'])) {
    const errors = cause['errors'].slice(0, MOST_ERRORS).map((error: unknown) => safeCause(error, depth + 1))
    hide(copy, 'errors', errors)
  }
  return copy
}

/** Not enumerable, like the fields of any Error. */
function hide(copy: Error, field: string, value: unknown): void {
  Object.defineProperty(copy, field, { value, writable: true, configurable: true, enumerable: false })
}

/** The stack frames. A stack begins with the whole message, and a message may have lines that look like frames. */
export function framesOf(stack: unknown, message: unknown, most: number = MOST_FRAMES): readonly string[] {
  if (typeof stack !== 'string') return []
  const said = String(message)
  const at = stack.indexOf(said)
  const frames = (at < 0 ? stack : stack.slice(at + said.length)).split('\n')
  return frames.filter((line) => line.startsWith('    at ')).slice(0, most)
}

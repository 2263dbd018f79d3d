import { ConsumeOnceError, describeError, StoreError } from '../../src/internal.ts'

/** The meaning of the errors of one database. */
export interface SqlErrors {
  /** Another transaction holds a row for longer than `lockTimeoutMs`. */
  readonly isLockTimeout: (error: unknown) => boolean
  /** The transaction was a deadlock victim or failed to serialize: no handler is at fault. */
  readonly isConflict: (error: unknown) => boolean
  /** A retry may succeed: after a conflict, or because another transaction has just inserted the same key. */
  readonly mayPassAgain: (error: unknown) => boolean
  /** The server was shut down, or an administrator ended the connection: no handler is at fault. */
  readonly isShutdown: (error: unknown) => boolean
  /**
   * The server refused a statement and the connection is still usable: nothing of the statement happened. Any other
   * error leaves the outcome unknown.
   */
  readonly isRefusal: (error: unknown) => boolean
  /** The text contains a character that the encoding of the database lacks. */
  readonly isUnstorable: (error: unknown) => boolean
  /**
   * What a person must do: which right to grant, what to correct in the URL. The error may come while a consumer runs,
   * as after a REVOKE: then it waits as for a server that is down, and goes on when the right is back.
   */
  readonly advice: (error: unknown) => string | undefined
  /** Why a COMMIT was refused, in terms of a handler. */
  readonly explainRefusal: (error: unknown) => string
}

/** Converts every rejection into an error of the library. Errors of the library stay as they are. */
export async function answered<T>(errors: SqlErrors, what: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof ConsumeOnceError || error instanceof TypeError) throw error
    const code = errors.isRefusal(error) ? 'STORE_UNREACHABLE' : 'STORE_AMBIGUOUS'
    throw new StoreError(code, `${what}: ${describeError(error)}${adviceOn(errors, error)}`, { cause: error })
  }
}

/** What a person must do about an error that does not pass by itself, behind its text; empty for all others. */
export function adviceOn(errors: Pick<SqlErrors, 'advice'>, error: unknown): string {
  const advice = errors.advice(error)
  return advice === undefined ? '' : `. ${advice}`
}

type Texts = Readonly<Record<string, string | null | undefined>>

/**
 * Writes texts, and where the encoding of the database lacks one of their characters, writes them again without it: the
 * text of an error must not prevent a record.
 */
export async function despiteEncoding<T extends Texts, R>(
  errors: Pick<SqlErrors, 'isUnstorable'>,
  texts: T,
  write: (texts: T) => Promise<R>,
): Promise<R> {
  try {
    return await write(texts)
  } catch (error) {
    if (!errors.isUnstorable(error)) throw error
    const storable = Object.entries(texts).map(([name, text]) => [name, text?.replaceAll(/[^ -~\n]/g, '?') ?? text])
    return write(Object.fromEntries(storable) as T)
  }
}

export function stillUnknown(cause?: unknown): StoreError {
  const text = 'the answer to a COMMIT was lost, and its transaction may still be under way'
  return new StoreError('STORE_AMBIGUOUS', text, { cause })
}

/** Why a COMMIT was refused after a conflict with another transaction. */
export function conflictText(isDeadlock: boolean, error: unknown): string {
  const what = isDeadlock ? 'the transaction was a deadlock victim' : 'the transaction failed to serialize with another'
  return `${what} (${describeError(error)}). Nothing is wrong with it: run it again`
}

import { StoreError, describeError, systemClock, type DurationMs } from '../../../src/spi.ts'

/**
 * Resolves with all answers, part after part, or rejects with a `StoreError` after the timeout: a client may keep a
 * command for ever (ioredis 6.0.0 does so with `autoResendUnfulfilledCommands: false`, after a lost connection).
 */
export async function answersWithin<T>(
  timeoutMs: DurationMs,
  asked: readonly Promise<readonly T[]>[],
): Promise<readonly T[]> {
  let cancel: (() => void) | undefined
  const late = new Promise<'late'>((resolve) => {
    cancel = systemClock.after(timeoutMs, () => resolve('late'))
  })
  const outcomes = await Promise.race([Promise.allSettled(asked), late])
  cancel?.()
  if (outcomes === 'late') throw new StoreError('STORE_AMBIGUOUS', `Redis: no answer within ${timeoutMs} ms`)
  const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [storeError(outcome.reason)] : []))
  const [first] = failures
  if (first !== undefined) {
    // If one script ran, or may have run, it is unknown whether anything was written.
    const unknown = failures.find(({ code }) => code !== 'STORE_UNREACHABLE')
    if (unknown !== undefined || failures.length === asked.length) throw unknown ?? first
    throw new StoreError('STORE_AMBIGUOUS', `part of the batch was refused: ${first.message}`, { cause: first })
  }
  return outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []))
}

/**
 * Error replies after which the server has done nothing: it is down, full, not the primary, does not have the keys, or
 * refuses the user.
 */
const REFUSED =
  /(?:^|[\s-])(?:READONLY|LOADING|CLUSTERDOWN|TRYAGAIN|MASTERDOWN|OOM|MISCONF|NOREPLICAS|BUSY|MOVED|CROSSSLOT|NOAUTH|WRONGPASS|NOPERM)\s/

/** The user may not run a command, also one inside a script, or may not use the key. */
export function isWithoutRight({ message }: Error): boolean {
  return /NOPERM\s|ACL failure in script|user executing the script can't/.test(message)
}

/** After any other error, such as a lost connection, it is unknown whether the script ran. */
function storeError(cause: unknown): StoreError {
  if (cause instanceof StoreError) return cause
  const message = describeError(cause)
  return REFUSED.test(message)
    ? new StoreError('STORE_UNREACHABLE', `Redis refuses: ${message}`, { cause })
    : new StoreError('STORE_AMBIGUOUS', `Redis: ${message}`, { cause })
}

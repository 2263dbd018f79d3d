import type { RedisPort } from '../clients/redis-port.ts'
import { StoreError, describeError, systemClock, type DurationMs } from '../../../src/internal.ts'

/**
 * Resolves with all answers, part after part, or rejects with a `StoreError` after the timeout: a client may keep a
 * command for ever (ioredis 6.0.0 does so with `autoResendUnfulfilledCommands: false`, after a lost connection).
 */
export function answersWithin<T>(
  timeoutMs: DurationMs,
  asked: readonly Promise<readonly T[]>[],
  { address }: Pick<RedisPort, 'address'> = {},
): Promise<readonly T[]> {
  const server = address === undefined ? 'Redis' : `Redis at ${address}`
  const [only] = asked
  // Nearly always one script. A race would cost it ten promises.
  const answers = only !== undefined && asked.length === 1 ? only : answersOfAll(asked, server)
  return new Promise((resolve, reject) => {
    const cancel = systemClock.after(timeoutMs, () =>
      reject(new StoreError('STORE_AMBIGUOUS', `${server}: no answer within ${timeoutMs} ms`)),
    )
    answers.then(
      (all) => {
        cancel()
        return resolve(all)
      },
      (error: unknown) => {
        cancel()
        reject(storeError(server, error))
      },
    )
  })
}

/** Waits for every part: of a batch that was sent, it must be known whether anything was written. */
async function answersOfAll<T>(asked: readonly Promise<readonly T[]>[], server: string): Promise<readonly T[]> {
  const outcomes = await Promise.allSettled(asked)
  const failures = outcomes.flatMap((outcome) =>
    outcome.status === 'rejected' ? [storeError(server, outcome.reason)] : [],
  )
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

/** After any other error, such as a lost connection, it is unknown whether the script ran. */
function storeError(server: string, cause: unknown): StoreError {
  if (cause instanceof StoreError) return cause
  const message = describeError(cause)
  return REFUSED.test(message)
    ? new StoreError('STORE_UNREACHABLE', `${server} refuses: ${message}`, { cause })
    : new StoreError('STORE_AMBIGUOUS', `${server}: ${message}`, { cause })
}

import type { RedisPort } from '../clients/redis-port.ts'
import { StoreError, describeError, systemClock, type DurationMs } from '../../../src/internal.ts'

/**
 * Resolves with all answers, part after part, or rejects with a `StoreError` after the timeout: a client may keep a
 * command for ever (ioredis 6.0.0 does so with `autoResendUnfulfilledCommands: false`, after a lost connection).
 */
export async function answersWithin<T>(
  timeoutMs: DurationMs,
  asked: readonly Promise<readonly T[]>[],
  { address }: Pick<RedisPort, 'address'> = {},
): Promise<readonly T[]> {
  const server = address === undefined ? 'Redis' : `Redis at ${address}`
  let cancel: (() => void) | undefined
  const late = new Promise<'late'>((resolve) => {
    cancel = systemClock.after(timeoutMs, () => resolve('late'))
  })
  const outcomes = await Promise.race([Promise.allSettled(asked), late])
  cancel?.()
  if (outcomes === 'late') throw new StoreError('STORE_AMBIGUOUS', `${server}: no answer within ${timeoutMs} ms`)
  const [only] = outcomes
  if (outcomes.length === 1 && only?.status === 'fulfilled') return only.value
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

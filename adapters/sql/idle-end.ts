import { durationText, TransactionError, type DurationMs, type IdleLimit } from '../../src/internal.ts'
import type { SqlErrors } from './errors.ts'
import type { TakenConnection } from './taken-connection.ts'

/** Timers of servers and of this process differ by so much. */
const EARLIER = 0.9

/** `undefined` for 0, which is no limit. */
export function idleLimitOf(limitMs: number): IdleLimit | undefined {
  return limitMs === 0 ? undefined : { limitMs, setting: `idleInTransactionTimeoutMs ${limitMs}` }
}

/**
 * Why a transaction cannot be committed, if its server has closed the connection because a handler sent nothing for too
 * long. That is neither an outage nor to be tried at once: the next run would end in the same way.
 *
 * @param isSaid - the server has said that this was the reason; otherwise the time tells
 */
export function endedIdle(
  { lostAfterMs, spoiledBy: cause }: Pick<TakenConnection, 'lostAfterMs' | 'spoiledBy'>,
  limitMs: DurationMs,
  isSaid: boolean,
  errors: SqlErrors,
): TransactionError | undefined {
  if ((lostAfterMs === 0 && !isSaid) || errors.isShutdown(cause)) return undefined
  const limit = idleLimitOf(limitMs)
  if (limit === undefined || (!isSaid && lostAfterMs < limit.limitMs * EARLIER)) return undefined
  const text =
    `the server ended the transaction, because its handler had sent nothing for ${durationText(Math.round(lostAfterMs))} ` +
    `(${limit.setting}). Raise that limit above handlerTimeoutMs, or do the slow part before the first statement and in less time`
  return new TransactionError('TRANSACTION_OVER', text, { cause })
}

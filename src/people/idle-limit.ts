import { durationText } from '../core/duration-text.ts'
import type { ResolvedConsumer } from '../consumer/resolve-options.ts'

/**
 * Why the server of a store may end a transaction before the time of its handler is over; `undefined` if it does not.
 * Each run of such a handler ends without a mark, until its attempts are spent.
 */
export function shorterThanHandlers({
  store,
  handlerTimeoutMs,
}: Pick<ResolvedConsumer, 'store' | 'handlerTimeoutMs'>): string | undefined {
  const { idleLimit } = store
  if (idleLimit === undefined || idleLimit.limitMs > handlerTimeoutMs) return undefined
  return (
    `${idleLimit.setting} ends a transaction whose handler has sent nothing for ${durationText(idleLimit.limitMs)}, and ` +
    `handlerTimeoutMs lets handlers run for ${durationText(handlerTimeoutMs)}: set the former above the latter`
  )
}

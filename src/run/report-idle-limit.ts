import type { ResolvedConsumer } from '../consumer/resolve-options.ts'
import { shorterThanHandlers } from '../people/idle-limit.ts'
import type { SourceEvent } from '../ports/source.ts'

/** Says once, at the start, that the server may end transactions before the time of their handlers is over. */
export function reportIdleLimit(consumer: ResolvedConsumer, report: (event: SourceEvent) => void): void {
  const detail = shorterThanHandlers(consumer)
  if (detail !== undefined) report({ type: 'source', event: 'idle-limit-too-short', detail, isWarning: true })
}

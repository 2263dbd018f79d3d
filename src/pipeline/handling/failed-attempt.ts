import { backoffMs, heldBackMs } from '../../core/backoff.ts'
import { describeError } from '../../foundation/errors.ts'
import type { ReleaseOptions } from '../../ports/store.ts'
import { causeOf } from '../telemetry/cause.ts'
import type { Ending } from '../ending.ts'
import type { RunItem } from './handler-run.ts'
import type { Services } from '../services.ts'
import { tracedBy } from './traces.ts'

/**
 * A handler failed and has attempts left: how its claim is released, and how its task ends after that. The release comes
 * first, because otherwise a retry copy could find the record `busy`. `losses`: how often in a row its database ended
 * its transaction.
 */
export function failedAttempt(
  services: Services,
  { task, claim: { attempt } }: RunItem,
  error: unknown,
  losses: number = 0,
): { readonly release: Pick<ReleaseOptions, 'delayMs' | 'cause'>; readonly ending: Ending } {
  const { consumer, clock, entropy, observe } = services
  const { key, message } = task
  const elsewhereMs = services.retryDelayMs(attempt)
  const retryInMs = elsewhereMs ?? backoffMs(Math.max(attempt, losses), consumer.backoff, entropy.fraction())
  task.firstFailureAt ??= clock.now()
  observe({ type: 'attempt-failed', key, message, attempt, error, retryInMs, ...tracedBy(task) })
  const cause = causeOf({ detail: describeError(error), error }, message)
  return elsewhereMs === undefined
    ? { release: { delayMs: retryInMs, cause }, ending: { end: 'rerun', delayMs: retryInMs } }
    : {
        release: { delayMs: heldBackMs(elsewhereMs), cause },
        ending: { end: 'retry', why: 'failed', attempts: attempt, delayMs: elsewhereMs, error },
      }
}

import type { DurationMs } from '../core/units.ts'
import { either, millis, needed, object, oneOf, type Rule } from '../foundation/options.ts'
import type { Publisher } from '../ports/source.ts'

/** What a message does while another owner has it: waits in its lane, or leaves for a retry place. */
export type WhenBusy = 'wait' | 'hand-back' | { readonly waitMs: DurationMs }

export const WHEN_BUSY: Rule<WhenBusy> = either(
  oneOf('wait', 'hand-back'),
  object<{ readonly waitMs: DurationMs }, never>({ waitMs: needed(millis()) }),
)

/** How long such a message waits in its lane; `undefined`: as its source says. */
export function busyWaitOf(whenBusy: WhenBusy | undefined): DurationMs | undefined {
  switch (whenBusy) {
    case undefined:
      return undefined
    case 'wait':
      return Number.POSITIVE_INFINITY
    case 'hand-back':
      return 0
    default:
      return whenBusy.waitMs
  }
}

/** Whether a message can leave its lane and come back later. */
export function hasRetryPlace(publisher: Publisher): boolean {
  if (publisher.retryLater === undefined) return false
  return publisher.retryDelayMs?.(1) !== undefined || publisher.busyWaitMs !== undefined
}

/** What keeps a consumer that hands busy messages back from starting with this publisher. */
export function problemsOfRetryPlace(
  { busyWaitMs }: { readonly busyWaitMs: DurationMs | undefined },
  publisher: Publisher,
  remedy: string,
): readonly string[] {
  if (busyWaitMs === undefined || busyWaitMs === Number.POSITIVE_INFINITY || hasRetryPlace(publisher)) return []
  const got = busyWaitMs === 0 ? "'hand-back'" : `{ waitMs: ${busyWaitMs} }`
  return [`whenBusy: expected 'wait' where messages have no retry place, got ${got}: ${remedy}`]
}

import type { DurationMs } from '../core/units.ts'
import { checkNames, checkWhole, shownText } from '../foundation/option-checks.ts'
import type { Publisher } from '../ports/source.ts'

/** What a message does while another owner has it: waits in its lane, or leaves for a retry place. */
export type WhenBusy = 'wait' | 'hand-back' | { readonly waitMs: DurationMs }

export function problemsOfWhenBusy(whenBusy: unknown): string[] {
  const problems: string[] = []
  if (whenBusy === undefined) return problems
  if (typeof whenBusy === 'object' && whenBusy !== null) {
    checkNames(
      'whenBusy.',
      whenBusy as { readonly waitMs?: unknown },
      { of: 'defineConsumer()', known: { waitMs: true } },
      problems,
    )
    checkWhole('whenBusy.waitMs', 'waitMs' in whenBusy ? whenBusy.waitMs : undefined, problems)
  } else if (whenBusy !== 'wait' && whenBusy !== 'hand-back') {
    problems.push(`whenBusy: expected 'wait', 'hand-back' or { waitMs }, got ${shownText(whenBusy)}`)
  }
  return problems
}

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

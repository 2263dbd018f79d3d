import { check, type Verdict } from '../../testing/checker/check.ts'
import type { History } from '../../testing/history.ts'
import type { Cell, Outcome } from './cell.ts'
import { unmet } from './demands.ts'
import { TERMS } from './strategy.ts'
import { MAX_ATTEMPTS } from './settings.ts'

const MOST_DELIVERIES = 20

/** Checks a history for the anomalies of testing/checker. */
export function verdictOf({ strategy, tuning, admitted = [], mustShow }: Cell, history: History): Verdict {
  return check(history, {
    promised: TERMS[strategy].promised,
    hadFaults: true,
    maxAttempts: tuning?.maxAttempts ?? MAX_ATTEMPTS,
    mostDeliveries: MOST_DELIVERIES,
    admitted: mustShow === undefined ? admitted : [...admitted, mustShow],
  })
}

interface Seen {
  readonly observed: Outcome | 'no effect'
  readonly verdict: Verdict
  /** The target and the places it was sent to. */
  readonly subject: string
  readonly places: readonly string[]
}

/** Every difference from what the cell expects. */
export function failuresOf(
  cell: Cell,
  { events, end }: History,
  { observed, verdict, subject, places }: Seen,
): readonly string[] {
  const failures: string[] = []
  if (observed === 'no effect' || !cell.expects.includes(observed)) {
    failures.push(`expected ${cell.expects.join(' or ')}, observed ${observed}`)
  }
  const { mustShow } = cell
  if (mustShow !== undefined && !verdict.anomalies.has(mustShow)) failures.push(`expected ${mustShow} to be found`)
  failures.push(...unmet(cell, events, { subject, places }))
  if (events.some((event) => event.f === 'tell' && event.what === 'invariant-broken')) {
    failures.push('a worker reported a broken invariant')
  }
  // Strategy `lease-park` also parks what ran at the same time.
  const others = events.filter((event) => event.f === 'copy' && !places.includes(event.place))
  if (others.length > 0 && cell.strategy !== 'lease-park')
    failures.push('messages other than the target were dead-lettered')
  if (!end.isDrained) failures.push('not drained in time')
  for (const [anomaly, witnesses] of verdict.anomalies) {
    if (!verdict.admitted.has(anomaly)) failures.push(...witnesses.map(({ says }) => `${anomaly}: ${says}`))
  }
  return failures
}

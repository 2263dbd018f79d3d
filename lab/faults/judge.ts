import { check, type Verdict } from '../../testing/checker/check.ts'
import type { History } from '../../testing/history.ts'
import type { Cell, Outcome } from './cell.ts'
import { unmet } from './demands.ts'
import { TERMS } from './strategy.ts'
import { MAX_ATTEMPTS } from './settings.ts'

const MOST_DELIVERIES = 20

/** By the anomalies of testing/checker. */
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
  /** The message that the cell is about, and where it was sent. */
  readonly subject: string
  readonly places: readonly string[]
}

/** What is not as the cell expects it. */
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
    failures.push('a worker told that an invariant was broken')
  }
  // Who parks what is in doubt parks also what ran beside it.
  const harmed = events.filter((event) => event.f === 'copy' && !places.includes(event.place))
  if (harmed.length > 0 && cell.strategy !== 'lease-park') failures.push('others than it were dead-lettered')
  if (!end.isDrained) failures.push('not drained in time')
  for (const [anomaly, witnesses] of verdict.anomalies) {
    if (!verdict.admitted.has(anomaly)) failures.push(...witnesses.map(({ says }) => `${anomaly}: ${says}`))
  }
  return failures
}

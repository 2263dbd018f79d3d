import type { Anomaly, Counterexample, History, Place, Subject, Verdict } from '../../../testing/index.ts'

/** What became of the messages, by their subjects. */
export interface Outcome {
  /** Gone from the broker, without an effect and without a dead letter. */
  readonly lost: ReadonlySet<Subject>
  /** With two effects outside of the process: requests that a provider accepted, or rows that were committed. */
  readonly doubled: ReadonlySet<Subject>
  /** Dead letters that say that no effect happened, and those that leave it open. */
  readonly deadLettered: ReadonlySet<Subject>
  readonly parked: ReadonlySet<Subject>
}

/** Counts over a history. It knows nothing of the checker. */
export function outcomeOf({ events, end }: History): Outcome {
  const subjects = new Map<Place, Subject>()
  const effects = new Map<Subject, number>()
  const deadLettered = new Set<Subject>()
  const parked = new Set<Subject>()
  for (const event of events) {
    if (event.f === 'send' && event.subject !== undefined) subjects.set(event.place, event.subject)
    if (event.f === 'effect' && event.kind !== 'attempt') {
      effects.set(event.subject, (effects.get(event.subject) ?? 0) + 1)
    }
    if (event.f === 'copy' && event.type === 'ok' && event.to === 'dead-letter') {
      const subject = subjects.get(event.place)
      if (subject !== undefined) (event.parked ? parked : deadLettered).add(subject)
    }
  }
  const waiting = new Set(end.unsettled.map((place) => subjects.get(place)))
  const isAccountedFor = (subject: Subject): boolean =>
    [effects, deadLettered, parked, waiting].some((known) => known.has(subject))
  return {
    lost: new Set([...subjects.values()].filter((subject) => !isAccountedFor(subject))),
    doubled: new Set([...effects].filter(([, count]) => count > 1).map(([subject]) => subject)),
    deadLettered,
    parked,
  }
}

/** The same of the checker's verdict. It does not judge what was parked. */
export function judgedOutcome({ anomalies }: Verdict): Pick<Outcome, 'lost' | 'doubled'> {
  const subjectsOf = (...names: Anomaly[]): Set<Subject> =>
    new Set(names.flatMap((name) => (anomalies.get(name) ?? []).flatMap((found) => subjectIn(found) ?? [])))
  return { lost: subjectsOf('A1 lost'), doubled: subjectsOf('A2 duplicate accepted', 'A2 duplicate tx') }
}

/** All events of a counterexample are about one subject, or about none. */
function subjectIn({ events }: Counterexample): Subject | undefined {
  for (const event of events) if ('subject' in event && event.subject !== undefined) return event.subject
  return undefined
}

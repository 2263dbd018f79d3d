import type { EventOf, History, Place, Subject } from '../history.ts'
import type { Anomaly } from './anomaly.ts'
import { type Lane, Partition, PlaceFacts } from './place.ts'
import { ProcFacts } from './proc.ts'
import { SubjectFacts } from './subject.ts'
import { type About, type Counterexample, counterexample } from './counterexample.ts'
import type { Rules } from './rules.ts'

/** The facts from the events so far, which the judges read and update. */
export class Facts {
  readonly history: History
  readonly rules: Rules
  readonly subjects: Map<Subject, SubjectFacts> = new Map()
  readonly places: Map<Place, PlaceFacts> = new Map()
  readonly procs: Map<string, ProcFacts> = new Map()
  readonly anomalies: Map<Anomaly, Counterexample[]> = new Map()
  /** Index of the event that is being judged. */
  index = -1
  hasSamples = false
  readonly #partitions = new Map<string, Partition>()
  readonly #lanes = new Map<string, Lane>()
  readonly #attemptsCount: boolean

  constructor(history: History, rules: Rules) {
    this.history = history
    this.rules = rules
    this.#attemptsCount = !history.events.some((event) => event.f === 'effect' && event.kind !== 'attempt')
  }

  /** A call that left the process counts as the effect only if no event says whether the provider accepted it. */
  isEffect(kind: EventOf<'effect'>['kind']): boolean {
    return kind !== 'attempt' || this.#attemptsCount
  }

  found(anomaly: Anomaly, says: string, about: About): void {
    const found = counterexample(this.history, { index: this.index, says, about })
    const others = this.anomalies.get(anomaly)
    if (others === undefined) this.anomalies.set(anomaly, [found])
    else others.push(found)
  }

  subject(name: Subject): SubjectFacts {
    let subject = this.subjects.get(name)
    if (subject === undefined) this.subjects.set(name, (subject = new SubjectFacts(name)))
    return subject
  }

  proc(name: string): ProcFacts {
    let proc = this.procs.get(name)
    if (proc === undefined) this.procs.set(name, (proc = new ProcFacts(name)))
    return proc
  }

  partition(name: string): Partition {
    let partition = this.#partitions.get(name)
    if (partition === undefined) this.#partitions.set(name, (partition = new Partition(name)))
    return partition
  }

  lane(name: string): Lane {
    let lane = this.#lanes.get(name)
    if (lane === undefined) this.#lanes.set(name, (lane = { name, places: [], over: 0 }))
    return lane
  }

  place(name: Place): PlaceFacts {
    let place = this.places.get(name)
    if (place !== undefined) return place
    const at = whereNumberBegins(name) - 1
    if (name[at] === '@') {
      const partition = this.partition(name.slice(0, at))
      const offset = Number(name.slice(at + 1))
      place = new PlaceFacts(name, { partition, offset })
      partition.add(place, offset)
    } else {
      place = new PlaceFacts(name, undefined)
    }
    this.places.set(name, place)
    return place
  }
}

function whereNumberBegins(place: Place): number {
  let at = place.length
  while (at > 0 && isDigit(place.charCodeAt(at - 1))) at--
  return at
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57
}

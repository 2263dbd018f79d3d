import type { History, HistoryEvent, Place, Subject } from '../history.ts'

/** The few events that show one anomaly, and an explanation. */
export interface Counterexample {
  readonly says: string
  readonly events: readonly HistoryEvent[]
}

/** The subject of an anomaly. */
export interface About {
  readonly subject?: Subject | undefined
  /** The subject that it is compared with. */
  readonly other?: Subject | undefined
  readonly place?: Place
  readonly partition?: string
  readonly call?: { readonly proc: string; readonly number: number }
  readonly samplesOf?: string
}

interface Found {
  /** Index of the event that shows it. */
  readonly index: number
  readonly says: string
  readonly about: About
}

const BEFORE = 10
const AFTER = 3

/** The events are chosen on first access: most anomalies are admitted, and only counted. */
export function counterexample(history: History, { index, says, about }: Found): Counterexample {
  return {
    says,
    get events() {
      return eventsAbout(history.events, about, index)
    },
  }
}

/** The first event about the anomaly, and those around the one that shows it. */
function eventsAbout(events: readonly HistoryEvent[], about: About, index: number): HistoryEvent[] {
  const isAbout = relevance(events, about)
  const before: HistoryEvent[] = []
  const after: HistoryEvent[] = []
  for (const [at, event] of events.entries()) {
    if (at > index && after.length === AFTER) break
    if (!isAbout(event) && at !== index) continue
    if (at <= index) before.push(event)
    else after.push(event)
  }
  return [...before.slice(0, 1), ...before.slice(1).slice(-BEFORE), ...after]
}

function relevance(events: readonly HistoryEvent[], about: About): (event: HistoryEvent) => boolean {
  const { call, samplesOf } = about
  if (call !== undefined) {
    return (event) =>
      event.proc === call.proc && (event.f !== 'call' || event.number === call.number) && isOfProc(event)
  }
  if (samplesOf !== undefined) return (event) => event.proc === samplesOf && event.f === 'sample'

  const subjects = new Set([about.subject, about.other].filter((subject) => subject !== undefined))
  const places = new Set(about.place === undefined ? [] : [about.place])
  const partitions = new Set(about.partition === undefined ? [] : [about.partition])
  const procs = new Set<string>()
  for (const event of events) {
    if (event.f === 'send' && event.subject !== undefined && subjects.has(event.subject)) places.add(event.place)
    if ('subject' in event && event.subject !== undefined && subjects.has(event.subject)) procs.add(event.proc)
  }
  for (const place of places) {
    const at = place.lastIndexOf('@')
    if (at !== -1) partitions.add(place.slice(0, at))
  }
  return (event) => {
    if (event.f === 'store-loss' && event.subject === undefined) return subjects.size > 0
    if ('subject' in event && event.subject !== undefined && subjects.has(event.subject)) return true
    if ('place' in event && event.place !== undefined && places.has(event.place)) return true
    if (event.f === 'commit') return partitions.has(event.partition)
    return (event.f === 'crash' || event.f === 'pause') && procs.has(event.proc)
  }
}

function isOfProc(event: HistoryEvent): boolean {
  return event.f === 'call' || event.f === 'crash' || event.f === 'pause' || event.f === 'heal'
}

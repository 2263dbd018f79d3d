import type { HistoryEvent, Place, Subject } from '../history.ts'

/** What can happen to a message. */
export type Point =
  | 'sent'
  | 'delivered'
  | 'asked'
  | 'started'
  | 'called'
  | 'effect'
  | 'ended'
  | 'marked'
  | 'aside'
  | 'dead-letter'
  | 'acked'

/** A message at a point of its life, for the `nth` time. */
export interface Reached {
  readonly subject: Subject
  readonly point: Point
  readonly nth: number
  /** The worker of this event, where there is one. */
  readonly worker: string | undefined
}

/** Reads the events of a history in their order, and says what each means for the messages. */
export class Lives {
  readonly #subjects = new Map<Place, Subject>()
  readonly #settled = new Set<Place>()
  /** Who was given the message at a place last, and who runs under a token. */
  readonly #receivers = new Map<Place, string>()
  readonly #runners = new Map<string, string>()
  readonly #times = new Map<string, number>()

  /** One, or several for a commit, which covers everything below. */
  see(event: HistoryEvent): readonly Reached[] {
    const { proc } = event
    switch (event.f) {
      case 'send':
        if (event.subject === undefined) return []
        this.#subjects.set(event.place, event.subject)
        return [this.#reach(event.subject, 'sent')]
      case 'deliver':
        this.#receivers.set(event.place, proc)
        return this.#reachAt(event.place, 'delivered', proc)
      case 'claim':
        if (event.type !== 'ok') return []
        this.#runners.set(event.token, proc)
        return [this.#reach(event.subject, 'asked', proc)]
      case 'hstart':
        this.#runners.set(event.token, proc)
        return [this.#reach(event.subject, 'started', proc)]
      case 'effect':
        return [
          this.#reach(event.subject, event.kind === 'attempt' ? 'called' : 'effect', this.#runners.get(event.token)),
        ]
      case 'hend':
        return [this.#reach(event.subject, 'ended', proc)]
      case 'mark':
        return event.type === 'ok' ? [this.#reach(event.subject, 'marked', proc)] : []
      case 'set-aside':
        return event.type === 'ok' ? [this.#reach(event.subject, 'aside', proc)] : []
      case 'copy':
        if (event.type !== 'ok' || event.to !== 'dead-letter') return []
        return this.#reachAt(event.place, 'dead-letter', this.#receivers.get(event.place))
      case 'ack':
        return this.#settle(event.place, proc)
      case 'commit':
        return [...this.#subjects.keys()]
          .filter((place) => isBelow(place, event.partition, event.next))
          .flatMap((place) => this.#settle(place, proc))
      case 'call':
      case 'channel-closed':
      case 'clock-jump':
      case 'crash':
      case 'broker-down':
      case 'decide':
      case 'heal':
      case 'pause':
      case 'rebalance':
      case 'release':
      case 'renew':
      case 'sample':
      case 'store-down':
      case 'store-loss':
      case 'tell':
        return []
    }
  }

  #settle(place: Place, worker: string): readonly Reached[] {
    if (this.#settled.has(place)) return []
    this.#settled.add(place)
    return this.#reachAt(place, 'acked', worker)
  }

  #reachAt(place: Place, point: Point, worker: string | undefined): readonly Reached[] {
    const subject = this.#subjects.get(place)
    return subject === undefined ? [] : [this.#reach(subject, point, worker)]
  }

  #reach(subject: Subject, point: Point, worker?: string): Reached {
    const what = `${subject} ${point}`
    const nth = (this.#times.get(what) ?? 0) + 1
    this.#times.set(what, nth)
    return { subject, point, nth, worker }
  }
}

function isBelow(place: Place, partition: string, next: number): boolean {
  const [of, offset] = place.split('@')
  return of === partition && Number(offset) < next
}

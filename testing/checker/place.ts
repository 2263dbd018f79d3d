import type { Place } from '../history.ts'
import type { PrintFacts, SubjectFacts } from './subject.ts'

/** Facts about the message at one place. */
export class PlaceFacts {
  readonly name: Place
  /** Unknown until its send event, which may come after its delivery. */
  message: Message | undefined = undefined
  isConfirmed = false
  deliveries = 0
  isSettled = false
  /** A confirmed copy in a dead-letter or retry place replaces it. */
  isCopied = false
  isUnsettledAtEnd = false
  /** In a log: its partition and its offset. */
  readonly log: LogPosition | undefined

  constructor(name: Place, log: LogPosition | undefined) {
    this.name = name
    this.log = log
  }
}

interface Message {
  /** `undefined`: it has no usable ID. */
  readonly subject: SubjectFacts | undefined
  readonly print: PrintFacts | undefined
  readonly lane: Lane | undefined
  readonly numberInLane: number
}

interface LogPosition {
  readonly partition: Partition
  readonly offset: number
}

/** Facts about one partition of a log: its places in order, and how far they are settled. */
export class Partition {
  readonly name: string
  readonly places: PlaceFacts[] = []
  /** All offsets below are settled. */
  next = 0
  /** Number of places below `next`. */
  settled = 0

  constructor(name: string) {
    this.name = name
  }

  /** Nearly always appends. */
  add(place: PlaceFacts, offset: number): void {
    const { places } = this
    let at = places.length
    while (at > 0 && (places[at - 1]?.log?.offset ?? 0) > offset) at--
    if (at === places.length) places.push(place)
    else places.splice(at, 0, place)
    if (offset >= this.next) return
    this.settled++
    place.isSettled = true
  }
}

/** The messages of one lane in the order in which they were sent. */
export interface Lane {
  readonly name: string
  readonly places: PlaceFacts[]
  /** Number of messages from the first on that are over. */
  over: number
}

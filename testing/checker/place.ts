import type { Place } from '../history.ts'
import type { PrintFacts, SubjectFacts } from './subject.ts'

/** What was told of the message at one place. */
export class PlaceFacts {
  readonly name: Place
  /** Unknown until its send is told, which may be later than its delivery. */
  message: Message | undefined = undefined
  isConfirmed = false
  deliveries = 0
  isSettled = false
  /** A confirmed copy lies in a dead-letter or a retry place in its stead. */
  isCopied = false
  isUnsettledAtEnd = false
  /** In a log: its partition and its offset there. */
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

/** What was told of one partition of a log: its places in their order, and how far they are settled. */
export class Partition {
  readonly name: string
  readonly places: PlaceFacts[] = []
  /** All offsets below are settled. */
  next = 0
  /** So many places are below. */
  settled = 0

  constructor(name: string) {
    this.name = name
  }

  /** Nearly always the last. */
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
  /** So many from the first on are over. */
  over: number
}

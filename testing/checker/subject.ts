import type { EventOf, Subject } from '../history.ts'
import type { PlaceFacts } from './place.ts'
import { ReplayedRecord } from './replayed-record.ts'

/** No event yet. Facts are dated by the number of the event that told them, as two events may have the same time. */
export const NEVER = -1

/** What was told of one subject so far. */
export class SubjectFacts {
  readonly name: Subject
  readonly record: ReplayedRecord = new ReplayedRecord()
  readonly prints: PrintFacts[] = []
  readonly #owners: Owner[] = []
  /** Who was granted the last claim. */
  granted: Owner | undefined = undefined
  highestFence = 0
  /** Some attempt ended, or may have, without anybody knowing how. */
  wasInDoubt = false
  hasFailed = false
  hasEnded = false
  /** Handlers without an end, also those of processes that died since. */
  readonly running: RunningHandler[] = []
  /** An effect, a mark, set aside, or decided by a person: what waits behind it in its lane may go on. */
  isOver = false
  lastReopened: number = NEVER
  lastLost: number = NEVER
  lastToldBeyondRetention: number = NEVER
  lastMarked: number = NEVER
  /** The last claim that was granted because the mark before it had expired, and that mark. */
  lastExpired: { readonly granted: number; readonly marked: number } | undefined = undefined

  constructor(name: Subject) {
    this.name = name
  }

  owner(token: string): Owner {
    for (let at = this.#owners.length - 1; at >= 0; at--) {
      const owner = this.#owners[at]
      if (owner?.token === token) return owner
    }
    const owner: Owner = {
      token,
      print: undefined,
      fence: undefined,
      attempt: 0,
      handlerEnded: undefined,
      mayBeMarked: false,
    }
    this.#owners.push(owner)
    return owner
  }

  print(print: string): PrintFacts {
    for (const known of this.prints) {
      known.print ??= print
      if (known.print === print) return known
    }
    return this.#add(print)
  }

  /** Where nobody said which it is, it is the only one, or the first. */
  printOf(print: string | undefined): PrintFacts {
    return print === undefined ? (this.prints[0] ?? this.#add(undefined)) : this.print(print)
  }

  #add(print: string | undefined): PrintFacts {
    const facts = new PrintFacts(print)
    this.prints.push(facts)
    return facts
  }
}

/** What was told of the messages that have one subject and one fingerprint: they are worth one effect together. */
export class PrintFacts {
  /** `undefined`: something was told of them before anybody said which they are. */
  print: string | undefined
  firstPlace: PlaceFacts | undefined = undefined
  lastSent: number = NEVER
  lastTx: number = NEVER
  lastAttempt: number = NEVER
  lastAccepted: number = NEVER
  /** Of the effects that count. */
  lastEffect: number = NEVER
  isMarked = false
  /** Marked without an effect, and rightly, or decided to be done by a person. */
  isExcused = false
  lastGivenUp: number = NEVER
  hasDeadLetter = false
  hasRetryCopy = false
  isUnsettled = false

  constructor(print: string | undefined) {
    this.print = print
  }

  last(kind: EventOf<'effect'>['kind']): number {
    switch (kind) {
      case 'tx':
        return this.lastTx
      case 'attempt':
        return this.lastAttempt
      case 'accepted':
        return this.lastAccepted
    }
  }

  hadEffectOfAnyKind(): boolean {
    return this.lastTx !== NEVER || this.lastAttempt !== NEVER || this.lastAccepted !== NEVER
  }
}

/** One token on one subject. */
export interface Owner {
  readonly token: string
  print: string | undefined
  fence: number | undefined
  attempt: number
  handlerEnded: EventOf<'hend'>['how'] | undefined
  /** A mark is under way or written: nobody may release any more. */
  mayBeMarked: boolean
}

export interface RunningHandler {
  readonly token: string
  readonly proc: { readonly crashes: number }
  /** Of its process, when it began: with one more it is dead. */
  readonly crashes: number
}

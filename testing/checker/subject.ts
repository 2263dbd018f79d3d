import type { EventOf, Place, Subject } from '../history.ts'
import { ReplayedRecord } from './replayed-record.ts'

/** No event yet. Facts are dated by event number, because two events may have the same time. */
export const NEVER = -1

/** Facts about one subject so far. */
export class SubjectFacts {
  readonly name: Subject
  readonly record: ReplayedRecord = new ReplayedRecord()
  readonly prints: PrintFacts[] = []
  readonly #owners: Owner[] = []
  /** The owner that was granted the last claim. */
  granted: Owner | undefined = undefined
  highestFence = 0
  /** Some attempt ended, or may have ended, with an unknown result. */
  wasInDoubt = false
  hasFailed = false
  hasEnded = false
  /** Handlers without an end, including those of processes that have died. */
  readonly running: RunningHandler[] = []
  /** It has an effect or a mark, was set aside, or was decided by a person: later messages of its lane may go on. */
  isOver = false
  lastReopened: number = NEVER
  lastLost: number = NEVER
  lastToldBeyondRetention: number = NEVER
  lastMarked: number = NEVER
  /** The last claim that was granted because the previous record had expired, and its mark; `Infinity` if it had none. */
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

  /** Without a fingerprint: the only one, or the first. */
  printOf(print: string | undefined): PrintFacts {
    return print === undefined ? (this.prints[0] ?? this.#add(undefined)) : this.print(print)
  }

  #add(print: string | undefined): PrintFacts {
    const facts = new PrintFacts(print)
    this.prints.push(facts)
    return facts
  }
}

/** Facts about the messages with one subject and one fingerprint: together they should have one effect. */
export class PrintFacts {
  /** `undefined`: an event came before their fingerprint was known. */
  print: string | undefined
  /** Where it was sent first. */
  firstPlace: Place | undefined = undefined
  lastSent: number = NEVER
  lastTx: number = NEVER
  lastAttempt: number = NEVER
  lastAccepted: number = NEVER
  /** The last effect that counts. */
  lastEffect: number = NEVER
  isMarked = false
  /** Rightly marked without an effect, or decided as done by a person. */
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
  /** A mark is in flight or written: it must not be released any more. */
  mayBeMarked: boolean
}

export interface RunningHandler {
  readonly token: string
  readonly proc: { readonly crashes: number }
  /** Number of crashes of its process when it began: if it is higher now, the handler is dead. */
  readonly crashes: number
}

import type { History, HistoryEvent, Place, Subject } from '../../../testing/index.ts'
import { Lives } from '../../../testing/sim/lives.ts'
import type { When } from '../../../testing/sim/interventions.ts'
import { outcomeOf } from '../engine/outcome.ts'
import { shortOf } from './link.ts'

/** What a step is about; the page gives each kind a colour and a letter. */
export type Kind = 'send' | 'deliver' | 'claim' | 'run' | 'effect' | 'mark' | 'aside' | 'settle' | 'fault' | 'end'

export interface Step {
  readonly at: number
  readonly kind: Kind
  /** One sentence. */
  readonly text: string
  /** None for a fault; several for a commit. */
  readonly messages: readonly string[]
  /** Who acts: `producer`, `broker`, `store`, `provider` or a worker. */
  readonly who: string
  /** The worker that this step concerns. */
  readonly worker?: string | undefined
  /** A second effect, or the loss of a message. */
  readonly isBad: boolean
  /** The visitor added it. */
  readonly isYours: boolean
  /** Where a fault that is added at this step begins. */
  readonly when: When
  readonly world: World
}

export interface WorkerView {
  readonly name: string
  readonly state: 'up' | 'frozen' | 'dead'
  /** Messages whose handler runs. */
  readonly running: readonly string[]
}

export interface World {
  /** How often each message was sent. */
  readonly sent: ReadonlyMap<string, number>
  /** Messages that the broker still has. */
  readonly broker: readonly string[]
  readonly workers: readonly WorkerView[]
  /** What the store knows about messages. */
  readonly store: readonly (readonly [message: string, state: string])[]
  /** How often each message had its effect. */
  readonly effects: readonly (readonly [message: string, times: number])[]
}

const VERDICTS: Readonly<Record<string, string>> = {
  claimed: 'grants the claim of MESSAGE',
  'taken-over': 'lets another worker take MESSAGE over: an earlier run of it has no known end',
  busy: 'says that MESSAGE is busy: another worker has it',
  'in-doubt': 'says that MESSAGE is in doubt: an earlier run of it has no known end',
  done: 'says that MESSAGE is done: it is a duplicate',
  parked: 'says that MESSAGE waits for a person',
  'given-up': 'says that MESSAGE was given up',
}

/** Actions on keys, in the consumer written by hand. */
const KEYS: Readonly<Record<string, string>> = {
  'key-set': 'sets the key of MESSAGE',
  'key-known': 'has the key of MESSAGE already, so MESSAGE is treated as a duplicate',
  'key-removed': 'removes the key of MESSAGE',
}

const FAULTS: Readonly<Record<string, string>> = {
  crash: 'crashes. What it did not write down is forgotten.',
  pause: 'freezes, as in a long garbage collection.',
  'clock-jump': 'has a clock that jumps.',
  rebalance: 'assigns the partitions anew: messages without a commit are delivered again.',
  'channel-closed': 'closes a channel. Messages without an ack are delivered again.',
  'store-down': 'does not answer.',
  'broker-down': 'does not answer.',
  heal: 'No further faults of the seed: everything has to be finished now.',
}

interface Worker {
  isUp: boolean
  frozenUntil: number
  readonly running: Map<string, string>
}

/** The steps of a history that a person wants to see, each with the world after it. `yours`: events of added faults. */
export function stepsOf(history: History, yours: ReadonlySet<number> = new Set()): readonly Step[] {
  return new Scene(history, yours).steps()
}

class Scene {
  readonly #history: History
  readonly #yours: ReadonlySet<number>
  readonly #steps: Step[] = []
  readonly #lives = new Lives()
  readonly #subjects = new Map<Place, Subject>()
  readonly #settled = new Set<Place>()
  readonly #effects = new Map<string, number>()
  readonly #store = new Map<string, { readonly state: string; readonly of: string }>()
  readonly #workers = new Map<string, Worker>()
  readonly #sent = new Map<string, number>()
  /** Whether marks come with the effect, in one transaction: then claims end with their process. */
  readonly #isInbox: boolean

  constructor(history: History, yours: ReadonlySet<number>) {
    this.#history = history
    this.#yours = yours
    // Two workers start with each schedule.
    for (const name of ['a1', 'a2']) this.#worker(name)
    this.#isInbox = history.events.some((event) => event.f === 'effect' && event.kind === 'tx')
  }

  steps(): readonly Step[] {
    for (const [index, event] of this.#history.events.entries()) this.#read(event, index)
    this.#end()
    return this.#steps
  }

  #read(event: HistoryEvent, index: number): void {
    const reached = this.#lives.see(event)
    const [only] = reached
    const when: When =
      only !== undefined && event.f !== 'commit'
        ? { subject: only.subject, point: only.point, nth: only.nth }
        : { atMs: event.at }
    const said = this.#apply(event, index)
    if (said === undefined) return
    const { kind, text, message, messages = message === undefined ? [] : [message], isBad = false } = said
    this.#steps.push({
      at: event.at,
      kind,
      text,
      messages,
      who: event.proc === 'database' ? 'store' : event.proc,
      worker: only?.worker,
      isBad,
      isYours: this.#yours.has(index),
      when,
      world: this.#world(event.at),
    })
  }

  /** Changes the world. The result is what a person reads; `undefined`: nothing to see. */
  #apply(event: HistoryEvent, index: number): Said | undefined {
    const { proc } = event
    const isYours = this.#yours.has(index)
    switch (event.f) {
      case 'send': {
        if (event.subject === undefined) return undefined
        const message = shortOf(event.subject)
        this.#subjects.set(event.place, event.subject)
        const times = (this.#sent.get(message) ?? 0) + 1
        this.#sent.set(message, times)
        const who = isYours ? 'You let the producer send' : 'The producer sends'
        return { kind: 'send', text: `${who} ${message}${times > 1 ? ' again' : ''}.`, message }
      }
      case 'deliver': {
        const message = this.#messageAt(event.place)
        this.#worker(proc)
        return { kind: 'deliver', text: `The broker delivers ${message} to worker ${proc}.`, message }
      }
      case 'claim': {
        const words = event.type === 'ok' ? VERDICTS[event.verdict ?? ''] : undefined
        if (words === undefined) return undefined
        const message = shortOf(event.subject)
        if (event.verdict === 'claimed' || event.verdict === 'taken-over') {
          this.#store.set(message, { state: 'claimed', of: proc })
        }
        return { kind: 'claim', text: `The store ${words.replace('MESSAGE', message)} (worker ${proc}).`, message }
      }
      case 'tell': {
        const words = KEYS[event.what]
        if (words === undefined || event.subject === undefined) return undefined
        const message = shortOf(event.subject)
        if (event.what === 'key-set') this.#store.set(message, { state: 'key', of: proc })
        if (event.what === 'key-removed') this.#store.delete(message)
        return { kind: 'claim', text: `The store ${words.replace('MESSAGE', message)} (worker ${proc}).`, message }
      }
      case 'release': {
        if (event.type === 'ok') this.#store.delete(shortOf(event.subject))
        return undefined
      }
      case 'hstart': {
        const message = shortOf(event.subject)
        this.#worker(proc).running.set(event.token, message)
        return { kind: 'run', text: `Worker ${proc} starts the handler of ${message}.`, message }
      }
      case 'hend': {
        const message = shortOf(event.subject)
        this.#worker(proc).running.delete(event.token)
        return { kind: 'run', text: `The handler of ${message} in worker ${proc} ${ENDS[event.how]}.`, message }
      }
      case 'effect': {
        const message = shortOf(event.subject)
        if (event.kind === 'attempt') {
          return { kind: 'run', text: `Worker ${proc} calls the provider for ${message}.`, message }
        }
        const times = (this.#effects.get(message) ?? 0) + 1
        this.#effects.set(message, times)
        if (event.kind === 'tx') this.#store.set(message, { state: 'done', of: proc })
        const done =
          event.kind === 'tx'
            ? `The rows of ${message} commit together with its mark`
            : `The provider carries out ${message}`
        const again = times > 1 ? `, for the ${times === 2 ? 'second' : `${times}th`} time` : ''
        return { kind: 'effect', text: `${done}${again}.`, message, isBad: times > 1 }
      }
      case 'mark': {
        const message = shortOf(event.subject)
        if (event.type !== 'ok' || this.#store.get(message)?.state === 'done') return undefined
        this.#store.set(message, { state: 'done', of: proc })
        return { kind: 'mark', text: `The store marks ${message} as done.`, message }
      }
      case 'set-aside': {
        if (event.type !== 'ok') return undefined
        const message = shortOf(event.subject)
        const isParked = event.as === 'parked'
        this.#store.set(message, { state: isParked ? 'for a person' : 'given up', of: proc })
        return {
          kind: 'aside',
          text: `The store ${isParked ? `parks ${message}: a person decides` : `gives ${message} up`}.`,
          message,
        }
      }
      case 'copy': {
        if (event.type !== 'ok' || event.to !== 'dead-letter') return undefined
        const message = this.#messageAt(event.place)
        return { kind: 'aside', text: `The broker confirms the dead letter of ${message}.`, message }
      }
      case 'ack': {
        this.#settled.add(event.place)
        const message = this.#messageAt(event.place)
        return { kind: 'settle', text: `Worker ${proc} acks ${message}: the broker removes it.`, message }
      }
      case 'commit': {
        const below = [...this.#subjects.keys()].filter((place) => {
          const [partition, offset] = place.split('@')
          return partition === event.partition && Number(offset) < event.next && !this.#settled.has(place)
        })
        for (const place of below) this.#settled.add(place)
        const messages = [...new Set(below.map((place) => this.#messageAt(place)))]
        const then = messages.length === 0 ? '' : `: the broker does not deliver ${messages.join(', ')} again`
        return { kind: 'settle', text: `Worker ${proc} commits offset ${event.next}${then}.`, messages }
      }
      case 'crash': {
        const worker = this.#worker(proc)
        worker.isUp = false
        worker.running.clear()
        if (this.#isInbox) this.#endClaimsOf(proc)
        return isYours
          ? { kind: 'fault', text: `You kill worker ${proc}. What it did not write down is forgotten.` }
          : { kind: 'fault', text: `Worker ${proc} ${FAULTS['crash'] ?? ''}` }
      }
      case 'pause': {
        const worker = this.#worker(proc)
        worker.frozenUntil = Math.max(worker.frozenUntil, event.at + (event.forMs ?? 0))
        return isYours
          ? { kind: 'fault', text: `You freeze worker ${proc} for ${event.forMs} ms, longer than its lease.` }
          : { kind: 'fault', text: `Worker ${proc} ${FAULTS['pause'] ?? ''}` }
      }
      case 'heal':
        return { kind: 'fault', text: FAULTS['heal'] ?? '' }
      case 'rebalance':
        // The workers join before there is a message.
        if (this.#sent.size === 0 && !isYours) return undefined
        return this.#fault(event, isYours)
      case 'clock-jump':
      case 'channel-closed':
      case 'store-down':
      case 'broker-down':
        return this.#fault(event, isYours)
      case 'call':
      case 'decide':
      case 'renew':
      case 'sample':
      case 'store-loss':
        return undefined
    }
  }

  #fault({ f, proc }: HistoryEvent, isYours: boolean): Said {
    return { kind: 'fault', text: `${isYours ? 'By your hand: ' : ''}${actorOf(proc)} ${FAULTS[f] ?? ''}` }
  }

  #end(): void {
    const { lost, doubled, parked, deadLettered } = outcomeOf(this.#history)
    const says = [
      ...named(lost, 'lost'),
      ...named(doubled, 'had its effect twice'),
      ...named(parked, 'waits for a person'),
      ...named(deadLettered, 'was given up with a dead letter'),
    ]
    this.#steps.push({
      at: this.#history.end.at,
      kind: 'end',
      text: `The end. ${says.length === 0 ? 'Each message had its effect once.' : `${says.join('; ')}.`}`,
      messages: [],
      who: 'everywhere',
      isBad: lost.size > 0,
      isYours: false,
      when: { atMs: this.#history.end.at },
      world: this.#world(this.#history.end.at),
    })
  }

  #world(now: number): World {
    return {
      sent: new Map(this.#sent),
      broker: [...this.#subjects].filter(([place]) => !this.#settled.has(place)).map(([, subject]) => shortOf(subject)),
      workers: [...this.#workers].toSorted(byName).map(([name, { isUp, frozenUntil, running }]) => ({
        name,
        state: !isUp ? 'dead' : now < frozenUntil ? 'frozen' : 'up',
        running: [...new Set(running.values())],
      })),
      store: [...this.#store].toSorted(byName).map(([message, { state }]) => [message, state]),
      effects: [...this.#effects].toSorted(byName),
    }
  }

  #worker(name: string): Worker {
    const known = this.#workers.get(name) ?? { isUp: true, frozenUntil: 0, running: new Map<string, string>() }
    this.#workers.set(name, known)
    return known
  }

  #endClaimsOf(worker: string): void {
    for (const [message, { state, of }] of this.#store) {
      if (state === 'claimed' && of === worker) this.#store.delete(message)
    }
  }

  #messageAt(place: Place): string {
    return shortOf(this.#subjects.get(place) ?? place)
  }
}

interface Said {
  readonly kind: Kind
  readonly text: string
  readonly message?: string
  readonly messages?: readonly string[]
  readonly isBad?: boolean
}

const ENDS = {
  ok: 'ends well',
  failed: 'fails',
  unknown: 'ends, and the library does not know whether its effect happened',
} as const

function byName([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one.localeCompare(other, 'en', { numeric: true })
}

function named(subjects: ReadonlySet<Subject>, what: string): readonly string[] {
  return subjects.size === 0 ? [] : [`${[...subjects].map(shortOf).join(', ')} ${what}`]
}

function actorOf(proc: string): string {
  return ['broker', 'store', 'provider', 'producer'].includes(proc) ? `The ${proc}` : `Worker ${proc}`
}

import type { History, HistoryEvent, Place, Subject } from '../../../testing/index.ts'
import { outcomeOf } from '../engine/outcome.ts'

/** What a step is about; the page gives each kind a colour and a letter. */
type Kind = 'send' | 'deliver' | 'claim' | 'run' | 'effect' | 'mark' | 'aside' | 'settle' | 'fault' | 'end'

export interface Step {
  readonly at: number
  readonly kind: Kind
  /** One sentence. */
  readonly text: string
  readonly message?: string | undefined
  /** Who acts: `producer`, `broker`, `store`, `provider` or a worker. */
  readonly who: string
  /** A second effect, or the loss of a message. */
  readonly isBad: boolean
  readonly world: World
}

interface WorkerView {
  readonly name: string
  readonly isUp: boolean
  /** Messages whose handler runs. */
  readonly running: readonly string[]
}

interface World {
  /** Messages that the broker still has. */
  readonly broker: readonly string[]
  readonly workers: readonly WorkerView[]
  /** Messages that the store has as done or set aside. */
  readonly store: readonly string[]
  /** How often each message had its effect. */
  readonly effects: readonly (readonly [message: string, times: number])[]
}

const VERDICTS: Readonly<Record<string, string>> = {
  claimed: 'grants the claim of MESSAGE',
  'taken-over': 'lets another worker take MESSAGE over: an earlier run of it has no known end',
  busy: 'says that MESSAGE is busy: another worker has it',
  'in-doubt': 'says that MESSAGE is in doubt: an earlier run of it has no known end',
  done: 'says that MESSAGE is done: it is a duplicate',
  parked: 'says that MESSAGE is parked',
  'given-up': 'says that MESSAGE was given up',
}

const FAULTS: Readonly<Record<string, string>> = {
  crash: 'crashes. What it did not write down is forgotten.',
  pause: 'freezes, as in a long garbage collection.',
  'clock-jump': 'has a clock that jumps.',
  rebalance: 'has its partitions moved.',
  'channel-closed': 'closes a channel. What was not acked is delivered again.',
  'store-down': 'does not answer.',
  'broker-down': 'does not answer.',
  heal: 'No further faults: everything has to be finished now.',
}

/** The steps of a history that a person wants to see, each with the world after it. */
export function stepsOf(history: History): readonly Step[] {
  const steps: Step[] = []
  const subjects = new Map<Place, Subject>()
  const settled = new Set<Place>()
  const effects = new Map<string, number>()
  const store = new Set<string>()
  const workers = new Map<string, { isUp: boolean; running: Map<string, string> }>()
  const sent = new Map<string, number>()

  const workerOf = (name: string): { isUp: boolean; running: Map<string, string> } => {
    const known = workers.get(name) ?? { isUp: true, running: new Map<string, string>() }
    workers.set(name, known)
    return known
  }
  const world = (): World => ({
    broker: [...subjects].filter(([place]) => !settled.has(place)).map(([, subject]) => nameOf(subject)),
    workers: [...workers]
      .toSorted(([a], [b]) => a.localeCompare(b))
      .map(([name, { isUp, running }]) => ({ name, isUp, running: [...new Set(running.values())] })),
    store: [...store].toSorted(),
    effects: [...effects].toSorted(([a], [b]) => a.localeCompare(b)),
  })
  const say = (event: HistoryEvent, kind: Kind, text: string, message?: string, isBad = false): void => {
    steps.push({ at: event.at, kind, text, message, who: event.proc, isBad, world: world() })
  }

  for (const event of history.events) {
    const { proc } = event
    switch (event.f) {
      case 'send': {
        if (event.subject === undefined) break
        const message = nameOf(event.subject)
        subjects.set(event.place, event.subject)
        const times = (sent.get(message) ?? 0) + 1
        sent.set(message, times)
        say(event, 'send', `The producer sends ${message}${times > 1 ? ' again' : ''}.`, message)
        break
      }
      case 'deliver': {
        const message = nameOf(subjects.get(event.place) ?? event.place)
        workerOf(proc)
        say(event, 'deliver', `The broker delivers ${message} to worker ${proc}.`, message)
        break
      }
      case 'claim': {
        const words = event.type === 'ok' ? VERDICTS[event.verdict ?? ''] : undefined
        const message = nameOf(event.subject)
        if (words !== undefined)
          say(event, 'claim', `The store ${words.replace('MESSAGE', message)} (worker ${proc}).`, message)
        break
      }
      case 'hstart': {
        const message = nameOf(event.subject)
        workerOf(proc).running.set(event.token, message)
        say(event, 'run', `Worker ${proc} starts the handler of ${message}.`, message)
        break
      }
      case 'hend': {
        const message = nameOf(event.subject)
        workerOf(proc).running.delete(event.token)
        say(event, 'run', `The handler of ${message} in worker ${proc} ${ENDS[event.how]}.`, message)
        break
      }
      case 'effect': {
        const message = nameOf(event.subject)
        if (event.kind === 'attempt') {
          say(event, 'run', `Worker ${proc} calls the provider for ${message}.`, message)
          break
        }
        const times = (effects.get(message) ?? 0) + 1
        effects.set(message, times)
        if (event.kind === 'tx') store.add(message)
        const done =
          event.kind === 'tx'
            ? `The rows of ${message} commit together with its mark`
            : `The provider carries out ${message}`
        say(
          event,
          'effect',
          `${done}${times > 1 ? `, for the ${times === 2 ? 'second' : `${times}th`} time` : ''}.`,
          message,
          times > 1,
        )
        break
      }
      case 'mark':
      case 'set-aside': {
        if (event.type !== 'ok') break
        const message = nameOf(event.subject)
        if (event.f === 'mark' && store.has(message)) break
        store.add(message)
        const how =
          event.f === 'mark' ? 'as done' : event.as === 'parked' ? 'as parked: a person decides' : 'as given up'
        say(event, event.f === 'mark' ? 'mark' : 'aside', `The store marks ${message} ${how}.`, message)
        break
      }
      case 'copy': {
        if (event.type !== 'ok' || event.to !== 'dead-letter') break
        const message = nameOf(subjects.get(event.place) ?? event.place)
        say(event, 'aside', `The broker confirms the dead letter of ${message}.`, message)
        break
      }
      case 'ack': {
        settled.add(event.place)
        const message = nameOf(subjects.get(event.place) ?? event.place)
        say(event, 'settle', `Worker ${proc} acks ${message}: the broker removes it.`, message)
        break
      }
      case 'commit': {
        for (const place of subjects.keys()) {
          const [partition, offset] = place.split('@')
          if (partition === event.partition && Number(offset) < event.next) settled.add(place)
        }
        say(event, 'settle', `Worker ${proc} commits offset ${event.next} of ${event.partition}.`)
        break
      }
      case 'crash':
      case 'pause':
      case 'clock-jump':
      case 'rebalance':
      case 'channel-closed':
      case 'store-down':
      case 'broker-down':
      case 'heal': {
        if (event.f === 'crash') workerOf(proc).isUp = false
        if (event.f === 'crash') workerOf(proc).running.clear()
        say(event, 'fault', event.f === 'heal' ? (FAULTS[event.f] ?? '') : `${actorOf(proc)} ${FAULTS[event.f] ?? ''}`)
        break
      }
      case 'call':
      case 'decide':
      case 'release':
      case 'renew':
      case 'sample':
      case 'store-loss':
      case 'tell':
        break
    }
  }

  const { lost, doubled, parked, deadLettered } = outcomeOf(history)
  const names = [...lost].map(nameOf).join(', ')
  const text = `The end. ${lost.size === 0 ? 'No message is lost' : `Lost: ${names}`}, ${doubled.size} had their effect twice, ${parked.size} wait for a person, ${deadLettered.size} were given up with a dead letter.`
  steps.push({ at: history.end.at, kind: 'end', text, who: 'broker', isBad: lost.size > 0, world: world() })
  return steps
}

const ENDS = {
  ok: 'ends well',
  failed: 'fails',
  unknown: 'ends, and nobody knows whether its effect happened',
} as const

function actorOf(proc: string): string {
  if (proc === 'everywhere') return 'Everything'
  return ['broker', 'store', 'provider', 'producer'].includes(proc) ? `The ${proc}` : `Worker ${proc}`
}

/** `a/m3`: message m3 of the group a. */
function nameOf(subject: string): string {
  return subject.split('/').at(-1) ?? subject
}

import { expect } from '@jest/globals'
import type { RabbitOptions } from '../../../adapters/amqplib/index.ts'
import { uniqueName } from '../../../test/kit/namespace.ts'
import type { Rabbit } from '../../../test/rabbitmq/rabbit.ts'
import type { WorkerStore } from '../worker-stores.ts'
import type { WorkerMessage } from './settings.ts'
import { RabbitWorker, type CrashPoint, type WorkerEvent } from './worker.ts'

/** Where processes die over their message, one queue for each point; one process goes on with all the queues. */
export interface LivesOn {
  readonly rabbit: Rabbit
  readonly store: WorkerStore
  readonly onInDoubt?: 'rerun' | 'park'
  readonly queueType?: 'quorum' | 'classic'
}

/** How a message that a process died over ends in the next process. */
export interface Ending {
  /** Outcomes in the last process. */
  readonly outcome: string
  /** Handlers that were started, in all. */
  readonly starts: number
  readonly effects: number
  readonly deadLetters: number
}

/** `in the handler`: as often as the message has attempts. */
export type Death = CrashPoint | 'in the handler'

export type Endings = Readonly<Partial<Record<Death, Ending>>>

export const AFTER_RERUN: Ending = { outcome: 'handled', starts: 2, effects: 1, deadLetters: 0 }
export const MARKED: Ending = { outcome: 'duplicate', starts: 1, effects: 1, deadLetters: 0 }
export const GIVEN_UP: Ending = { outcome: 'dead-lettered', starts: 2, effects: 0, deadLetters: 1 }

interface Way {
  readonly does?: WorkerMessage['does']
  /** To the last process. */
  readonly deliveries: number
}

const WAYS: Readonly<Record<Death, Way>> = {
  'before the handler': { deliveries: 1 },
  'in the handler': { does: 'kill', deliveries: 1 },
  'before the mark': { deliveries: 1 },
  'after the mark': { deliveries: 1 },
  'after the release': { does: 'fail once', deliveries: 1 },
  // The copy, and the original that was not acked.
  'after the copy': { does: 'fail once', deliveries: 2 },
  'before the set-aside': { does: 'fail', deliveries: 1 },
  'after the set-aside': { does: 'fail', deliveries: 1 },
  'after the dead letter': { does: 'fail', deliveries: 1 },
}

const OUTCOMES: Readonly<Record<string, string>> = {
  handled: 'handled',
  duplicate: 'duplicate',
  joined: 'duplicate', // Whether copy and original meet is chance.
  'dead-lettered': 'dead-lettered',
  parked: 'parked',
  'handed-back': 'handed-back',
}

const DELAY_MS = 200
const MAX_ATTEMPTS = 2

interface Life {
  readonly death: Death
  readonly options: RabbitOptions
  readonly id: string
  readonly told: readonly WorkerEvent[]
}

export async function endingsOf(on: LivesOn, deaths: readonly string[]): Promise<Endings> {
  return goOn(on, await Promise.all(deaths.map((death) => die(on, death as Death))))
}

/** A process that is not told where to die, until it is. */
export function workerOn(
  { rabbit, store, onInDoubt }: LivesOn,
  options: readonly RabbitOptions[],
  dieAt?: CrashPoint,
): RabbitWorker {
  const how = { ...(onInDoubt && { onInDoubt }), ...(dieAt && { dieAt }) }
  return new RabbitWorker({ url: rabbit.url, options, store: store.spec, maxAttempts: MAX_ATTEMPTS, ...how })
}

/** One message, and processes that die over it. */
export async function die(on: LivesOn, death: Death): Promise<Life> {
  const { rabbit, queueType } = on
  const [queue, id] = [rabbit.name(), uniqueName('id')]
  rabbit.delayQueues(queue, DELAY_MS)
  const options = { queue, retry: { delayQueues: [DELAY_MS] }, ...(queueType && { queueType }) }
  const { does } = WAYS[death]
  const told: WorkerEvent[] = []
  for (let left = death === 'in the handler' ? MAX_ATTEMPTS : 1; left > 0; left--) {
    await using worker = workerOn(on, [options], death === 'in the handler' ? undefined : death)
    if (told.length === 0) {
      await worker.untilTold('running')
      await rabbit.send(queue, [JSON.stringify(does === undefined ? { id } : { id, does })])
    }
    expect(await worker.ended).toBe('SIGKILL')
    told.push(...worker.events)
  }
  return { death, options, id, told }
}

/** Handles the messages of the dead processes in one process that continues. */
async function goOn(on: LivesOn, lives: readonly Life[]): Promise<Endings> {
  const { rabbit, store } = on
  await using worker = workerOn(
    on,
    lives.map(({ options }) => options),
  )
  const outcomes = ({ id }: Life): string[] =>
    worker.events.flatMap(({ what, about }) => (about === id ? (OUTCOMES[what] ?? []) : []))
  await worker.until(() => lives.every((life) => outcomes(life).length === WAYS[life.death].deliveries))
  await worker.stop()
  const ending = async (life: Life): Promise<[Death, Ending]> => {
    const { id, death, options } = life
    const told = [...life.told, ...worker.events].filter(({ about }) => about.split(' ')[0] === id)
    const count = (what: string): number => told.filter((event) => event.what === what).length
    expect(await rabbit.takeLeft(options.queue)).toEqual([])
    return [
      death,
      {
        outcome: outcomes(life).toSorted().join(', '),
        starts: count('started'),
        effects: store.spec.strategy === 'inbox' ? await store.committed(id) : count('effect'),
        deadLetters: (await rabbit.takeLeft(`${options.queue}.dead-letter`)).length,
      },
    ]
  }
  return Object.fromEntries(await Promise.all(lives.map(ending)))
}

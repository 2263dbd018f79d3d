import { describe, expect, it } from '@jest/globals'
import type { RabbitOptions } from '../../adapters/amqplib/index.ts'
import { openedOnce } from '../../test/kit/opened.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { Rabbit } from '../../test/rabbitmq/rabbit.ts'
import { RabbitWorker, type CrashPoint, type WorkerEvent, type WorkerMessage } from '../kit/mortal/worker.ts'
import { openStores, type WorkerStores } from '../kit/worker-stores.ts'

let rabbit: Rabbit
let stores: WorkerStores

openedOnce(Rabbit, (made) => (rabbit = made))
openedOnce({ open: openStores }, (made) => (stores = made))

type Strategy = 'lease' | 'inbox'

/** How a message that the process died over ends in the next process. */
interface Ending {
  /** Outcome in the second process. */
  readonly outcome: string
  /** Handlers that were started, in both. */
  readonly starts: number
  readonly effects: number
  readonly deadLetters: number
}

interface Way {
  readonly does?: WorkerMessage['does']
  /** To the second process. */
  readonly deliveries: number
}

const WAYS: Readonly<Record<CrashPoint, Way>> = {
  'before the handler': { deliveries: 1 },
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

interface Life {
  readonly point: CrashPoint
  readonly options: RabbitOptions
  readonly id: string
  readonly told: readonly WorkerEvent[]
}

const MAX_ATTEMPTS = 2

/** One message, and a process that dies over it. */
async function die(point: CrashPoint, strategy: Strategy, queueType: 'quorum' | 'classic'): Promise<Life> {
  const [queue, id] = [rabbit.name(), uniqueName('id')]
  rabbit.delayQueues(queue, DELAY_MS)
  const options: RabbitOptions = { queue, queueType, retry: { delayQueues: [DELAY_MS] } }
  const life = { url: rabbit.url, options: [options], store: stores[strategy], maxAttempts: MAX_ATTEMPTS }
  await using worker = new RabbitWorker({ ...life, dieAt: point })
  await worker.untilTold('running')
  const { does } = WAYS[point]
  await rabbit.send(queue, [JSON.stringify(does === undefined ? { id } : { id, does })])
  expect(await worker.ended).toBe('SIGKILL')
  return { point, options, id, told: worker.events }
}

/** Handles the messages of the dead processes in one process that continues. */
async function goOn(lives: readonly Life[], strategy: Strategy): Promise<Record<string, Ending>> {
  const options = lives.map((life) => life.options)
  await using worker = new RabbitWorker({
    url: rabbit.url,
    options,
    store: stores[strategy],
    maxAttempts: MAX_ATTEMPTS,
  })
  const outcomes = ({ id }: Life): string[] =>
    worker.events.flatMap(({ what, about }) => (about === id ? (OUTCOMES[what] ?? []) : []))
  await worker.until(() => lives.every((life) => outcomes(life).length === WAYS[life.point].deliveries))
  await worker.stop()
  const ending = async (life: Life): Promise<[string, Ending]> => {
    const {
      id,
      point,
      options: { queue },
    } = life
    const told = [...life.told, ...worker.events].filter(({ about }) => about.split(' ')[0] === id)
    const count = (what: string): number => told.filter((event) => event.what === what).length
    expect(await rabbit.takeLeft(queue)).toEqual([])
    return [
      point,
      {
        outcome: outcomes(life).toSorted().join(', '),
        starts: count('started'),
        effects: strategy === 'inbox' ? await stores.committed(id) : count('effect'),
        deadLetters: (await rabbit.takeLeft(`${queue}.dead-letter`)).length,
      },
    ]
  }
  return Object.fromEntries(await Promise.all(lives.map(ending)))
}

const AFTER_RERUN: Ending = { outcome: 'handled', starts: 2, effects: 1, deadLetters: 0 }
const MARKED: Ending = { outcome: 'duplicate', starts: 1, effects: 1, deadLetters: 0 }
const GIVEN_UP: Ending = { outcome: 'dead-lettered', starts: 2, effects: 0, deadLetters: 1 }

const ENDINGS: Readonly<Record<Strategy, Readonly<Record<CrashPoint, Ending>>>> = {
  lease: {
    'before the handler': { ...AFTER_RERUN, starts: 1 },
    // The effect may have happened, so the handler runs again. No other point repeats an effect.
    'before the mark': { ...AFTER_RERUN, effects: 2 },
    'after the mark': MARKED,
    'after the release': AFTER_RERUN,
    'after the copy': { ...AFTER_RERUN, outcome: 'duplicate, handled' },
    'before the set-aside': { ...GIVEN_UP, outcome: 'parked' },
    'after the set-aside': GIVEN_UP,
    // Two dead letters, never none.
    'after the dead letter': { ...GIVEN_UP, deadLetters: 2 },
  },
  inbox: {
    'before the handler': { ...AFTER_RERUN, starts: 1 },
    'before the mark': AFTER_RERUN,
    'after the mark': MARKED,
    'after the release': AFTER_RERUN,
    'after the copy': { ...AFTER_RERUN, outcome: 'duplicate, handled' },
    'before the set-aside': GIVEN_UP,
    'after the set-aside': GIVEN_UP,
    'after the dead letter': { ...GIVEN_UP, deadLetters: 2 },
  },
}

describe('a process that is killed between claim, handler, effect, mark, release, delayed copy, dead letter and ack', () => {
  it.each<[Strategy, 'quorum' | 'classic']>([
    ['lease', 'quorum'],
    ['lease', 'classic'],
    ['inbox', 'quorum'],
    ['inbox', 'classic'],
  ])(
    'loses nothing, and repeats no more than its strategy says: %s, %s queue [T2]',
    async (strategy, queueType) => {
      const points = Object.keys(ENDINGS[strategy]) as CrashPoint[]
      const lives = await Promise.all(points.map((point) => die(point, strategy, queueType)))
      expect(await goOn(lives, strategy)).toEqual(ENDINGS[strategy])
    },
    90_000,
  )
})

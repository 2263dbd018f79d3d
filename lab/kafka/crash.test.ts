import { describe, expect, it } from '@jest/globals'
import { openedOnce } from '../../test/kit/opened.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { Cluster } from '../../test/kafka/kit.ts'
import { openStores, type WorkerStores } from '../kit/worker-stores.ts'
import {
  KafkaWorker,
  type KafkaConfig,
  type KafkaCrashPoint as CrashPoint,
  type WorkerMessage,
} from '../kit/mortal/worker.ts'

let cluster: Cluster
let stores: WorkerStores

openedOnce(Cluster, (made) => (cluster = made))
openedOnce({ open: openStores }, (made) => (stores = made))

const SESSION_MS = 2_000

/** How a message that the process died over ends in the next process. */
interface Ending {
  /** Outcome in the second process. */
  readonly outcome: string
  readonly effects: number
  readonly deadLetters: number
}

/** One message, one process that dies at `dieAt`, and one that continues. */
async function liveTwice(strategy: 'lease' | 'inbox', dieAt: CrashPoint): Promise<Ending> {
  const [topic, groupId, id] = [await cluster.topic(), uniqueName('group'), uniqueName('id')]
  const message: WorkerMessage = dieAt.endsWith('mark') ? { id } : { id, does: 'fail' }
  await cluster.send(topic, [JSON.stringify(message)])
  const config: KafkaConfig = {
    brokers: cluster.brokers,
    topics: [topic],
    groupId,
    store: stores[strategy],
    sessionTimeoutMs: SESSION_MS,
    maxAttempts: 1 + Number(dieAt.endsWith('mark')),
  }
  await using first = new KafkaWorker({ ...config, dieAt })
  expect(await first.ended).toBe('SIGKILL')
  expect(Math.max(...(await cluster.committed(groupId, topic)))).toBeLessThanOrEqual(0)

  await using second = new KafkaWorker(config)
  await second.until(() => OUTCOMES.some((outcome) => second.told(outcome).length > 0))
  await cluster.untilCommitted(groupId, topic, [1])
  const deadLetters = (await cluster.highs(`${topic}.dead-letter`)).reduce((sum, { high }) => sum + Number(high), 0)
  const told = [...first.told('effect'), ...second.told('effect')].length
  return {
    outcome: OUTCOMES.filter((outcome) => second.told(outcome).length > 0).join(),
    effects: strategy === 'inbox' ? await stores.committed(id) : told,
    deadLetters: deadLetters,
  }
}

const OUTCOMES = ['handled', 'duplicate', 'dead-lettered', 'parked', 'handed-back']

describe('a process that dies', () => {
  it.each<['lease' | 'inbox', Record<CrashPoint, Ending>]>([
    [
      'lease',
      {
        // The effect may have happened, so the handler runs again.
        'before the mark': { outcome: 'handled', effects: 2, deadLetters: 0 },
        'after the mark': { outcome: 'duplicate', effects: 1, deadLetters: 0 },
        'before the set-aside': { outcome: 'parked', effects: 0, deadLetters: 1 },
        'after the set-aside': { outcome: 'dead-lettered', effects: 0, deadLetters: 1 },
        // Two dead letters, never none.
        'after the dead letter': { outcome: 'dead-lettered', effects: 0, deadLetters: 2 },
      },
    ],
    [
      'inbox',
      {
        'before the mark': { outcome: 'handled', effects: 1, deadLetters: 0 },
        'after the mark': { outcome: 'duplicate', effects: 1, deadLetters: 0 },
        'before the set-aside': { outcome: 'dead-lettered', effects: 0, deadLetters: 1 },
        'after the set-aside': { outcome: 'dead-lettered', effects: 0, deadLetters: 1 },
        'after the dead letter': { outcome: 'dead-lettered', effects: 0, deadLetters: 2 },
      },
    ],
  ])(
    'between effect, mark, set-aside, dead letter and commit loses nothing: %s [T1]',
    async (strategy, expected) => {
      const points = Object.keys(expected) as CrashPoint[]
      const living = points.map(async (point) => [point, await liveTwice(strategy, point).catch(String)] as const)
      expect(Object.fromEntries(await Promise.all(living))).toEqual(expected)
    },
    60_000,
  )
})

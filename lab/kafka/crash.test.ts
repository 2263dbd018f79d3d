import { describe, expect, it } from '@jest/globals'
import { openedOnce } from '../../test/kit/opened.ts'
import { withPostgres } from '../../test/kit/servers/clients.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { Cluster } from '../../test/kafka/kit.ts'
import { openStores, type WorkerStores } from '../kit/worker-stores.ts'
import { KafkaWorker, type KafkaConfig, type KafkaCrashPoint as CrashPoint } from '../kit/mortal/worker.ts'

let cluster: Cluster
let stores: WorkerStores

openedOnce(Cluster, (made) => (cluster = made))
openedOnce({ open: openStores }, (made) => (stores = made))

const SESSION_MS = 2_000

type Strategy = 'lease' | 'inbox' | 'offsets'

/** How a message that the process died over ends in the next process. */
interface Ending {
  /** Outcome in the second process; none, if the message is not delivered to it. */
  readonly outcome: string
  readonly effects: number
  readonly deadLetters: number
}

/** One message, one process that dies at `dieAt`, and one that continues, with the message behind it too. */
async function liveTwice(strategy: Strategy, dieAt: CrashPoint): Promise<Ending> {
  const [topic, groupId, id, after] = [
    await cluster.topic(),
    uniqueName('group'),
    uniqueName('id'),
    uniqueName('after'),
  ]
  const does = dieAt.endsWith('mark') ? {} : { does: 'fail' }
  await cluster.send(topic, [JSON.stringify({ id, ...does })])
  const config: KafkaConfig = {
    brokers: cluster.brokers,
    topics: [topic],
    groupId,
    store: strategy === 'offsets' ? { ...stores.inbox, strategy } : stores[strategy],
    sessionTimeoutMs: SESSION_MS,
    maxAttempts: 1 + Number(dieAt.endsWith('mark')),
  }
  await using first = new KafkaWorker({ ...config, dieAt })
  expect(await first.ended).toBe('SIGKILL')
  expect(Math.max(...(await cluster.committed(groupId, topic)))).toBeLessThanOrEqual(0)
  await cluster.send(topic, [JSON.stringify({ id: after })])

  await using second = new KafkaWorker(config)
  await cluster.untilCommitted(groupId, topic, [2])
  const deadLetters = (await cluster.highs(`${topic}.dead-letter`)).reduce((sum, { high }) => sum + Number(high), 0)
  const told = (name: string): number =>
    [...first.told('effect'), ...second.told('effect')].filter((one) => one === name).length
  const effectsOf = async (name: string): Promise<number> =>
    strategy === 'lease' ? told(name) : await stores.committed(name)
  expect(await effectsOf(after)).toBe(1)
  if (strategy === 'offsets') expect(await storedPosition(topic)).toBe(2)
  return {
    outcome: OUTCOMES.filter((outcome) => second.told(outcome).includes(id)).join(),
    effects: await effectsOf(id),
    deadLetters,
  }
}

async function storedPosition(topic: string): Promise<unknown> {
  const { url, schema = 'public' } = stores.inbox
  const text = `select next_offset::int as next from ${schema}.position where stream = $1`
  const { rows } = await withPostgres(url, (client) => client.query<{ next: number }>(text, [`${topic}/0`]))
  return rows[0]?.next
}

const OUTCOMES = ['handled', 'duplicate', 'dead-lettered', 'parked', 'handed-back']

const INBOX: Readonly<Record<CrashPoint, Ending>> = {
  'before the mark': { outcome: 'handled', effects: 1, deadLetters: 0 },
  'after the mark': { outcome: 'duplicate', effects: 1, deadLetters: 0 },
  'before the set-aside': { outcome: 'dead-lettered', effects: 0, deadLetters: 1 },
  'after the set-aside': { outcome: 'dead-lettered', effects: 0, deadLetters: 1 },
  // Two dead letters, never none.
  'after the dead letter': { outcome: 'dead-lettered', effects: 0, deadLetters: 2 },
}

const LEASE: typeof INBOX = {
  ...INBOX,
  // The effect may have happened, so the handler runs again.
  'before the mark': { outcome: 'handled', effects: 2, deadLetters: 0 },
  'before the set-aside': { outcome: 'parked', effects: 0, deadLetters: 1 },
}

// The stored position is behind it.
const OFFSETS: typeof INBOX = { ...INBOX, 'after the mark': { outcome: '', effects: 1, deadLetters: 0 } }

async function endings(strategy: Strategy): Promise<Readonly<Record<string, Ending | string>>> {
  const living = (Object.keys(INBOX) as CrashPoint[]).map(
    async (point) => [point, await liveTwice(strategy, point).catch(String)] as const,
  )
  return Object.fromEntries(await Promise.all(living))
}

describe('a process that dies', () => {
  it.each<['lease' | 'inbox', typeof INBOX]>([
    ['lease', LEASE],
    ['inbox', INBOX],
  ])(
    'between effect, mark, set-aside, dead letter and commit loses nothing: %s [T1]',
    async (strategy, expected) => {
      expect(await endings(strategy)).toEqual(expected)
    },
    60_000,
  )

  it('with offsets has one effect, or none and a dead letter, and what follows is handled [T34]', async () => {
    expect(await endings('offsets')).toEqual(OFFSETS)
  }, 60_000)
})

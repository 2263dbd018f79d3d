import { describe, expect, it } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { backends } from '../../test/kit/backends.ts'
import { server } from '../../test/kit/servers/server.ts'
import { Rabbit, type Taken } from '../../test/rabbitmq/rabbit.ts'
import { bodies } from '../../test/rabbitmq/watching.ts'
import { newMysqlPlace, type MysqlPlace } from '../../test/mysql/support.ts'
import { RabbitWorker, type WorkerMessage } from '../kit/mortal/worker.ts'
import { openStores, type WorkerStores } from '../kit/worker-stores.ts'
import type { StoreSpec } from '../kit/worker/spec.ts'

let rabbit: Rabbit
let stores: WorkerStores
let mysql: MysqlPlace | undefined

beforeAllOpen(async (own) => {
  rabbit = own(await Rabbit.open())
  stores = own(await openStores())
  own(() => mysql?.close())
})

interface UnderTest {
  readonly store: StoreSpec
  readonly strategy: 'lease' | 'inbox'
  readonly committed: (id: string) => Promise<number>
}

const STORES = {
  redisLease: async (): Promise<UnderTest> => ({ ...stores, store: stores.lease, strategy: 'lease' }),
  postgresInbox: async (): Promise<UnderTest> => ({ ...stores, store: stores.inbox, strategy: 'inbox' }),
  postgresLease: async (): Promise<UnderTest> => {
    const store = { ...stores.inbox, strategy: 'lease' } as const
    return { ...stores, store, strategy: 'lease' }
  },
  mysqlInbox: () => onMysql('inbox'),
  mysqlLease: () => onMysql('lease'),
}

async function onMysql(strategy: 'lease' | 'inbox'): Promise<UnderTest> {
  mysql ??= await newMysqlPlace()
  const { href: url } = Object.assign(new URL((await server('mariadb')).url), { pathname: mysql.database })
  return { store: { on: 'mariadb', strategy, url }, strategy, committed: mysql.committed }
}

const MAX_ATTEMPTS = 2

interface Ended {
  readonly neighbours: readonly string[]
  readonly poison: string
  readonly lives: readonly RabbitWorker[]
  readonly deadLetters: readonly Taken[]
  /** Reports of all processes. */
  readonly told: (what: string) => readonly string[]
}

/** One process after the other, until all messages have left the queue. */
async function liveUntilDone(store: StoreSpec, queueType: 'quorum' | 'classic'): Promise<Ended> {
  const queue = rabbit.name()
  const [neighbours, poison] = [bodies(10, `${queue}-neighbour-`), `${queue}-poison`]
  const messages: WorkerMessage[] = neighbours.map((id) => ({ id, does: 'linger' }))
  messages.splice(5, 0, { id: poison, does: 'kill' })
  const options = [{ queue, queueType }]
  const lives: RabbitWorker[] = []
  const told = (what: string): readonly string[] => lives.flatMap((life) => life.told(what))
  const ends = (): number =>
    new Set(['handled', 'duplicate', 'parked', 'dead-lettered'].flatMap((outcome) => told(outcome))).size
  for (let isDone = false; !isDone;) {
    await using worker = new RabbitWorker({
      url: rabbit.url,
      options,
      store,
      maxAttempts: MAX_ATTEMPTS,
    })
    lives.push(worker)
    await worker.untilTold('running')
    const sent = messages.splice(0).map((message) => JSON.stringify(message))
    await rabbit.send(queue, sent)
    const done = worker.until(() => ends() === neighbours.length + 1)
    isDone = await Promise.race([worker.ended.then(() => false), done.then(() => true)])
    if (isDone) await worker.stop()
  }
  expect(await rabbit.takeLeft(queue)).toEqual([])
  return { neighbours, poison, lives, told, deadLetters: await rabbit.takeLeft(`${queue}.dead-letter`) }
}

const ON_MARIADB: ['mysqlInbox' | 'mysqlLease', 'quorum'][] = [
  ['mysqlInbox', 'quorum'],
  ['mysqlLease', 'quorum'],
]

/** Cells F17.in-flight of lab/faults have redisLease and postgresInbox with a quorum queue. */
describe('a message that kills its process', () => {
  it.each<[keyof typeof STORES, 'quorum' | 'classic']>([
    ['redisLease', 'classic'],
    ['postgresInbox', 'classic'],
    ['postgresLease', 'quorum'],
    ...(backends.has('mariadb') ? ON_MARIADB : []),
  ])(
    'is dead-lettered after its attempts, and each neighbour is handled once: %s, %s queue',
    async (name, queueType) => {
      const { store, strategy, committed } = await STORES[name]()
      const { neighbours, poison, lives, deadLetters, told } = await liveUntilDone(store, queueType)
      const starts = told('started').filter((about) => about.startsWith(poison))
      expect(starts).toEqual([`${poison} 1`, `${poison} 2`])
      expect(lives).toHaveLength(MAX_ATTEMPTS + 1)
      expect(lives[0]?.told('started').length).toBeGreaterThan(1) // It did not die alone.

      expect(deadLetters.map(({ properties }) => properties.headers)).toEqual([
        expect.objectContaining({ 'consume-once-reason': 'attempts-spent' }),
      ])
      expect(JSON.parse(deadLetters[0]?.body ?? '')).toMatchObject({ id: poison })
      // On a lease the effect is unknown; an inbox knows that nothing was committed.
      expect(deadLetters[0]?.properties.headers?.['consume-once-parked']).toBe(strategy === 'lease' ? true : undefined)
      const handled = told('handled')
      expect(new Set(handled).size).toBe(handled.length)
      expect(new Set([...handled, ...told('duplicate')])).toEqual(new Set(neighbours))
      if (strategy === 'lease') return
      for (const id of neighbours) expect([id, await committed(id)]).toEqual([id, 1])
      expect(await committed(poison)).toBe(0)
    },
    90_000,
  )
})

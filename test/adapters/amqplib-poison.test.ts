import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SERVER_WITHIN_MS } from '../support/servers/server.ts'
import { Rabbit, type Taken } from './amqplib-rabbit.ts'
import { WorkerProcess } from './amqplib-worker-process.ts'
import { bodies } from './amqplib-watching.ts'
import type { WorkerMessage } from './worker-process.ts'
import { openStores, type WorkerStores } from './worker-stores.ts'

let rabbit: Rabbit
let stores: WorkerStores

beforeAll(async () => {
  rabbit = await Rabbit.open()
  stores = await openStores()
}, SERVER_WITHIN_MS)
afterAll(async () => {
  await rabbit[Symbol.asyncDispose]()
  await stores[Symbol.asyncDispose]()
})

const MAX_ATTEMPTS = 2

interface Ended {
  readonly neighbours: readonly string[]
  readonly poison: string
  readonly lives: readonly WorkerProcess[]
  readonly letters: readonly Taken[]
  /** What all of them told. */
  readonly told: (what: string) => readonly string[]
}

/** One process after the other, until all messages have left the queue. */
async function liveUntilDone(strategy: 'lease' | 'inbox', queueType: 'quorum' | 'classic'): Promise<Ended> {
  const queue = rabbit.name()
  const [neighbours, poison] = [bodies(10, `${queue}-neighbour-`), `${queue}-poison`]
  const messages: WorkerMessage[] = neighbours.map((id) => ({ id, does: 'linger' }))
  messages.splice(5, 0, { id: poison, does: 'kill' })
  const options = [{ queue, queueType }]
  const lives: WorkerProcess[] = []
  const told = (what: string): readonly string[] => lives.flatMap((life) => life.told(what))
  const ends = (): number =>
    new Set(['handled', 'duplicate', 'parked', 'dead-lettered'].flatMap((outcome) => told(outcome))).size
  for (let isDone = false; !isDone;) {
    await using worker = new WorkerProcess({
      url: rabbit.url,
      options,
      store: stores[strategy],
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
  return { neighbours, poison, lives, told, letters: await rabbit.takeLeft(`${queue}.dead-letter`) }
}

describe('a message that kills its process', () => {
  it.each<['lease' | 'inbox', 'quorum' | 'classic']>([
    ['lease', 'quorum'],
    ['lease', 'classic'],
    ['inbox', 'quorum'],
    ['inbox', 'classic'],
  ])(
    'is dead-lettered after its attempts, and each neighbour is handled once: %s, %s queue',
    async (strategy, queueType) => {
      const { neighbours, poison, lives, letters, told } = await liveUntilDone(strategy, queueType)
      const starts = told('started').filter((about) => about.startsWith(poison))
      expect(starts).toEqual([`${poison} 1`, `${poison} 2`])
      expect(lives).toHaveLength(MAX_ATTEMPTS + 1)
      expect(lives[0]?.told('started').length).toBeGreaterThan(1) // It did not die alone.

      expect(letters.map(({ properties }) => properties.headers)).toEqual([
        expect.objectContaining({ 'consume-once-reason': 'attempts-spent' }),
      ])
      expect(JSON.parse(letters[0]?.body ?? '')).toMatchObject({ id: poison })
      // On a lease nobody knows what it did before it died; an inbox knows that nothing was committed.
      expect(letters[0]?.properties.headers?.['consume-once-parked']).toBe(strategy === 'lease' ? true : undefined)
      const handled = told('handled')
      expect(new Set(handled).size).toBe(handled.length)
      expect(new Set([...handled, ...told('duplicate')])).toEqual(new Set(neighbours))
      if (strategy === 'lease') return
      for (const id of neighbours) expect([id, await stores.committed(id)]).toEqual([id, 1])
      expect(await stores.committed(poison)).toBe(0)
    },
    90_000,
  )
})

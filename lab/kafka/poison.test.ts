import { describe, expect, it } from '@jest/globals'
import { openedOnce } from '../../test/kit/opened.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { Cluster } from '../../test/kafka/kit.ts'
import { openStores, type WorkerStores } from '../kit/worker-stores.ts'
import { KafkaWorker, type WorkerMessage } from '../kit/mortal/worker.ts'

let cluster: Cluster
let stores: WorkerStores

openedOnce(Cluster, (made) => (cluster = made))
openedOnce({ open: openStores }, (made) => (stores = made))

const MAX_ATTEMPTS = 2
const NEIGHBOURS = Array.from({ length: 10 }, (_, index) => `neighbour-${index}`)

describe('a message that kills its process', () => {
  it.each(['lease', 'inbox'] as const)(
    'is dead-lettered after its attempts, and its neighbours are handled: %s',
    async (strategy) => {
      const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
      const messages: WorkerMessage[] = NEIGHBOURS.map((id) => ({ id, does: 'linger' }))
      messages.splice(5, 0, { id: 'poison', does: 'kill' })
      const sent = messages.map((message) => ({ key: message.id, value: JSON.stringify(message) }))
      await cluster.send(topic, sent)
      const committed = cluster.untilCommitted(groupId, topic, [sent.length])
      const config = { brokers: cluster.brokers, topics: [topic], groupId, store: stores[strategy] }

      const lives: KafkaWorker[] = []
      for (let isDone = false; !isDone;) {
        const worker = new KafkaWorker({ ...config, sessionTimeoutMs: 1_500, maxAttempts: MAX_ATTEMPTS })
        lives.push(worker)
        isDone = await Promise.race([worker.ended.then(() => false), committed.then(() => true)])
        await worker.kill()
      }
      const told = (what: string): readonly string[] => lives.flatMap((life) => life.told(what))
      expect(told('started').filter((about) => about.startsWith('poison'))).toEqual(['poison 1', 'poison 2'])
      expect(lives).toHaveLength(MAX_ATTEMPTS + 1)
      expect(lives[0]?.told('started').length).toBeGreaterThan(1) // It did not die alone.

      const deadLetters = await cluster.read(`${topic}.dead-letter`, 1)
      expect(deadLetters.map(({ key }) => String(key))).toEqual(['poison'])
      expect(deadLetters[0]?.headers).toMatchObject({ 'x-dead-letter-reason': 'attempts-spent' })
      // On a lease the effect is unknown; an inbox knows that nothing was committed.
      expect(deadLetters[0]?.headers['x-parked']).toBe(strategy === 'lease' ? 'true' : undefined)
      expect(new Set(told('effect'))).toEqual(new Set(NEIGHBOURS))
      if (strategy === 'lease') return
      for (const id of NEIGHBOURS) expect([id, await stores.committed(id)]).toEqual([id, 1])
      expect(await stores.committed('poison')).toBe(0)
    },
    90_000,
  )
})

import { describe, expect, it } from '@jest/globals'
import { adminOf, defineConsumer, messageId } from 'consume-once'
import { MemoryBroker, memorySequences, memoryStore, runMemory } from 'consume-once/memory'
import type { ObserverEvent } from '../../../../src/ports/observer.ts'
import type { Store } from '../../../../src/ports/store.ts'

const PLACE = { topic: 'readings', group: 'meters' }

describe('a consumer of numbered messages', () => {
  it('handles each number of each sender once, in any order', async () => {
    const sent = [
      ['a', 1],
      ['a', 3],
      ['b', 1],
      ['a', 1],
      ['a', 2],
      ['b', 1],
    ] as const
    const { handled } = await consume(memorySequences(), sent)
    expect(handled).toEqual(['a 1', 'a 3', 'b 1', 'a 2'])
  })

  it('dead-letters a sender that began again: as a conflict near its last number, parked far behind', async () => {
    const first = Array.from({ length: 20 }, (_, at) => ['a', at + 1, 'first'] as const)
    const again = [
      ['a', 20, 'again'],
      ['a', 1, 'again'],
    ] as const
    const { handled, ends } = await consume(memorySequences({ tail: 5 }), [...first, ...again])
    expect(handled).toHaveLength(20)
    expect(ends.slice(-2)).toEqual(['dead-lettered conflict', 'parked behind-sequence'])
  })

  it('is told to give its store the IDs that it needs', async () => {
    const { handled, ends } = await consume(memorySequences(), [['a', 1]], () => 'meter-a/1')
    expect(handled).toEqual([])
    expect(ends).toEqual(['dead-lettered no-id'])
  })

  it('may use any other store with the same IDs', async () => {
    const sent = [
      ['a', 1],
      ['a', 1],
    ] as const
    const { handled } = await consume(memoryStore(), sent)
    expect(handled).toEqual(['a 1'])
  })

  it('is inspected by the ID, also where only the sequence knows the message', async () => {
    const sent = Array.from({ length: 9 }, (_, at) => ['a', at + 1] as const)
    const { consumer } = await consume(memorySequences({ tail: 1 }), sent)
    const admin = adminOf(consumer, { group: PLACE.group, origins: [PLACE.topic] })
    expect(await admin.inspect(['2:a', '9:a', '10:a'])).toMatchObject([
      { state: 'done' },
      { state: 'done', since: expect.any(Number) },
      { state: 'absent' },
    ])
    await expect(admin.inspect(['meter-a/1'])).rejects.toThrow('expected one of messageId.sourceSequence()')
    const decided = await admin.forget(['2:a'], { by: 'test', reason: 'wrong reading' })
    expect(decided).toMatchObject([{ verdict: 'decided' }])
  })
})

type Sent = readonly [source: string, number: number, text?: string]

/** Publishes messages one after the other, and tells what was handled and how each delivery ended. */
async function consume(store: Store, sent: readonly Sent[], id = sourceAndNumber) {
  const handled: string[] = []
  const ends: string[] = []
  const consumer = defineConsumer({
    name: 'meter-readings',
    id,
    store,
    handle: ({ message: { headers } }) => void handled.push(`${String(headers['device'])} ${String(headers['seq'])}`),
    observe: (event: ObserverEvent) => {
      if (event.type === 'delivery') ends.push(`${event.outcome} ${event.reason ?? ''}`)
    },
  })
  const broker = new MemoryBroker()
  const running = await runMemory(broker, consumer, PLACE)
  for (const [device, seq, text = ''] of sent) {
    broker.publish(PLACE.topic, { value: Buffer.from(JSON.stringify(text)), headers: { device, seq: String(seq) } })
    await broker.drained(PLACE.topic, PLACE.group)
  }
  await running.stop()
  return { consumer, handled, ends }
}

const sourceAndNumber = messageId.sourceSequence({
  source: messageId.header('device'),
  sequence: messageId.header('seq'),
})

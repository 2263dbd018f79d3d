import { describe, it } from '@jest/globals'
import { MemoryBroker, runMemory } from 'consume-once/memory'
import { describeSourceContract } from '../../testing/contract/source/contract.ts'

describeSourceContract(
  'the memory broker',
  {
    createHarness: async () => {
      const broker = new MemoryBroker({ partitions: 2 })
      const place = { topic: 't', group: 'g' }
      let published = 0
      return {
        publish: async (texts) => {
          for (const text of texts) {
            const key = text.includes('/') ? Buffer.from(text.slice(0, text.indexOf('/'))) : null
            broker.publish('t', { key, value: Buffer.from(text), headers: { 'message-id': text } })
            published++
          }
        },
        run: (consumer) => runMemory(broker, consumer, place),
        interrupt: async () => {
          broker.rebalance('t', 'g')
          return 'stale'
        },
        takeAway: async (_running, consumer) => void (await runMemory(broker, consumer, place)),
        isSettled: async () => published > 0 && broker.isDrained('t', 'g'),
        deadLetters: async () =>
          broker.deadLetters.map(({ message, reason }) => ({
            text: Buffer.from(message.value ?? '').toString(),
            reason,
            id: String(message.headers['message-id']),
            key: message.key === null ? undefined : Buffer.from(message.key).toString(),
          })),
        [Symbol.asyncDispose]: async () => {},
      }
    },
    lacks: {
      disconnects: 'it is in this process',
      'refused-copies': 'a dead letter is an entry of an array',
    },
  },
  { describe, it },
)

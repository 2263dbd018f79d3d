// A source of your own, held against the contract through the whole pipeline, on any runner: here `npx tsx --test`.
// #region readme
import { describe, it } from 'node:test'
import { MemoryBroker } from 'consume-once'
import { runConsumer } from 'consume-once/spi'
import { describeSourceContract } from 'consume-once/testing'

describeSourceContract(
  'a source of mine',
  async () => {
    const broker = new MemoryBroker({ partitions: 2 }) // yours: a new topic or queue for each law, on a real server
    let published = 0
    return {
      // The text is ID and payload; what stands before a `/` is its ordering key.
      publish: async (texts) => {
        for (const text of texts) {
          const key = text.includes('/') ? Buffer.from(text.slice(0, text.indexOf('/'))) : null
          broker.publish('topic', { key, value: Buffer.from(text), headers: { 'message-id': text } })
          published++
        }
      },
      run: (consumer) => {
        const source = broker.source('topic', 'group') // yours: a Source and a Publisher
        return runConsumer(consumer, { source, publisher: source })
      },
      interrupt: async () => broker.rebalance('topic', 'group'), // or cut its connection
      isSettled: async () => published > 0 && broker.isDrained('topic', 'group'), // as the broker says
      deadLetters: async () =>
        broker.deadLetters.map(({ message, reason }) => ({
          text: Buffer.from(message.value ?? '').toString(),
          reason,
        })),
      [Symbol.asyncDispose]: async () => {}, // removes the topic
    }
  },
  { describe, it },
)
// #endregion

// A source of your own, held against the contract on any runner: here `npx tsx --test examples/testing-source.ts`.
import assert from 'node:assert/strict'
import { defineConsumer, messageId } from 'consume-once'
import { memoryStore } from 'consume-once/memory'
import { redrive } from 'consume-once/replay'
import { logSubscription } from './source-places.ts'
// #region readme
import { describe, it } from 'node:test'
import { headerText } from 'consume-once/spi'
import { describeSourceContract } from 'consume-once/testing'
import { deadLetterTopic, runLog } from './source.ts'
import { Log } from './support/log.ts'

const place = { topic: 'topic', group: 'group' }

describeSourceContract(
  'the log',
  {
    createHarness: async () => {
      const log = new Log() // yours: a new topic or queue for each law, on a real server
      const others: { stop(): Promise<unknown> }[] = []
      return {
        // The text is ID and payload; what stands before a `/` is its ordering key.
        publish: async (texts) => {
          for (const text of texts) {
            const key = text.includes('/') ? text.slice(0, text.indexOf('/')) : null
            await log.append(place.topic, { key, value: Buffer.from(text), headers: { 'message-id': text } })
          }
        },
        run: (consumer) => runLog(log, consumer, place),
        interrupt: async () => {
          log.happens.rebalance(place.topic, place.group)
          return 'stale' // each partition comes back to the same member
        },
        takeAway: async (_running, consumer) => {
          others.push(await runLog(log, consumer, place)) // a second member gets one of the two partitions
        },
        disconnect: async () => log.happens.disconnect(),
        refuseCopies: async () => {
          log.happens.refuse(deadLetterTopic(place.topic))
          return async () => log.happens.accept(deadLetterTopic(place.topic))
        },
        // As the broker says, not as the source believes.
        isSettled: async () => String(log.committed(place.topic, place.group)) === String(await log.ends(place.topic)),
        deadLetters: async () => {
          const found = await Promise.all([0, 1].map((at) => log.fetch(deadLetterTopic(place.topic), at, 0)))
          return found.flat().map(({ key, value, headers }) => ({
            text: String(value),
            reason: String(headers['consume-once-reason']),
            id: headerText(headers, 'message-id'),
            key: key ?? undefined,
          }))
        },
        [Symbol.asyncDispose]: async () => {
          await Promise.all(others.map((other) => other.stop())) // and removes the topic
        },
      }
    },
  },
  { describe, it },
)
// #endregion

describe('a dead letter of the log', () => {
  it('is sent back to its topic, and handled there as the same message', async () => {
    const log = new Log()
    const handled: string[] = []
    let isBroken = true
    const consumer = defineConsumer({
      name: 'sms-sender',
      id: messageId.header('message-id'),
      decode: (bytes) => Buffer.from(bytes ?? '').toString(),
      store: memoryStore(),
      maxAttempts: 1,
      handle: ({ payload }) => {
        if (isBroken) throw new Error('503')
        handled.push(payload)
      },
    })
    await using running = await runLog(log, consumer, place)
    await log.append(place.topic, { key: 'k', value: Buffer.from('m1'), headers: { 'message-id': '1' } })
    while (running.health().counts['settled-without-run'] === undefined || !(await isSettled(log))) await pause()
    isBroken = false
    const by = { by: 'erika', reason: 'the provider is up', dryRun: false }
    const { totals } = await redrive(consumer, logSubscription(log, place), by).result
    assert.equal(totals.redriven, 1)
    while (handled.length === 0) await pause()
    assert.equal(handled[0], 'm1')
  })
})

async function isSettled(log: Log): Promise<boolean> {
  const ends = await log.ends(place.topic)
  return String(ends) !== '0,0' && String(log.committed(place.topic, place.group)) === String(ends)
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 10))

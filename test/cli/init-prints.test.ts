// What the worker of `init` prints is what the quick starts print, and says why.
import { readFileSync } from 'node:fs'
import { compileFunction } from 'node:vm'
import { describe, expect, it } from '@jest/globals'
import { defineConsumer, messageId } from 'consume-once'
import { MemoryBroker, memoryStore, runMemory } from 'consume-once/memory'
import { written } from '../kit/init/files.ts'

describe('what init writes', () => {
  it.each([
    ['kafkajs', 'pg', 'payments', 'quick-kafka-postgres'],
    ['amqplib', 'ioredis', 'sms', 'quick-rabbitmq-redis'],
  ])('has the consumer of the quick start with %s and %s, and prints as it does', (broker, store, name, example) => {
    const optionsIn = (text: string): readonly string[] => {
      const [, options = ''] =
        new RegExp(`const ${name} = defineConsumer\\(\\{\\n([\\s\\S]*?)  observe: `).exec(text) ?? []
      return options.split('\n')
    }
    expect(optionsIn(written(broker, store).consumer).length).toBeGreaterThan(5)
    const { consumer } = written(broker, store)
    const shown = readFileSync(`examples/${example}.ts`, 'utf8')
    expect(optionsIn(consumer)).toEqual(optionsIn(shown))
    expect(printing(consumer)).toEqual(printing(shown))
  })

  it('prints why a message is tried again, and why it is given up', async () => {
    const lines: string[] = []
    const console = { log: (...words: readonly unknown[]) => void lines.push(words.join(' ')) }
    const print = compileFunction(printing(written('kafkajs', 'pg').consumer).join('\n'), ['event', 'console'])
    const failing = defineConsumer({
      name: 'sms',
      id: messageId.header('message-id'),
      store: memoryStore(),
      maxAttempts: 2,
      handle: () => Promise.reject(new Error('no route')),
      observe: (event) => void print(event, console),
    })
    const broker = new MemoryBroker()
    broker.publish('sms', { value: Buffer.from('{}'), headers: { 'message-id': 's-1' } })
    const running = await runMemory(broker, failing, { topic: 'sms', group: 'sms' })
    await broker.drained('sms', 'sms')
    await running.stop()
    expect(lines).toEqual(['attempt failed: Error: no route', 'dead-lettered attempts-spent no route'])
  })
})

/** What its observer does with an event. */
function printing(text: string): readonly string[] {
  const [, lines = ''] = /\n( *if \(event\.type[\s\S]*?)\n *\},/.exec(text) ?? []
  return lines.split('\n').map((line) => line.trim())
}

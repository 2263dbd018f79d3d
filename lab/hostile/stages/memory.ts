import { MemoryBroker, runMemory } from '../../../src/memory/index.ts'
import { Numbers, NUMBER_HEADER, numberedHeaders, planFor } from '../plan.ts'
import type { Stage } from '../stage.ts'

const PLACE = { topic: 'hostile', group: 'hostile' }

/** One partition of the broker in this process. */
export async function memoryStage(): Promise<Stage> {
  const broker = new MemoryBroker({ partitions: 1 })
  const numbers = new Numbers(planFor('memory'))
  return {
    carrier: 'memory',
    start: (consumer) => runMemory(broker, consumer, PLACE),
    async send(sendings) {
      for (const sending of sendings) {
        const { key, timestamp } = sending.message
        broker.publish(PLACE.topic, {
          value: sending.value,
          headers: numberedHeaders(sending) ?? {},
          ...(key === undefined ? {} : { key: Buffer.from(key as string) }),
          ...(timestamp === undefined ? {} : { timestamp }),
        })
      }
    },
    deadLetters: async () =>
      broker.deadLetters.map(({ message: { headers, value, key }, reason }) => ({
        number: numbers.of(headers, value),
        reason,
        value: value === null ? null : Buffer.from(value),
        moveBack: async () =>
          broker.publish(PLACE.topic, {
            headers: { ...headers, [NUMBER_HEADER]: String(numbers.of(headers, value)) },
            value,
            key,
          }),
      })),
    untilDrained: () => broker.drained(PLACE.topic, PLACE.group),
    [Symbol.asyncDispose]: async () => {},
  }
}

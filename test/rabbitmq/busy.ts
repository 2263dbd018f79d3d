import { expect, it } from '@jest/globals'
import type { RabbitRetry } from '../../adapters/amqplib/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import type { Consumers, Handle } from './consumers.ts'
import type { Rabbit } from './rabbit.ts'
import { Gate } from './watching.ts'

/** A message that another process is busy with for long waits in `where`, for 100 ms at a time. */
export function itWaitsElsewhereWhileBusy(
  where: string,
  way: RabbitRetry,
  on: () => { readonly rabbit: Rabbit; readonly consumers: Consumers },
): void {
  it.each([
    ['soon', { waitMs: 50 }],
    ['at once', 'hand-back'],
  ] as const)(`waits in ${where}, %s, leaves its lane free and spends no attempt`, async (_soon, whenBusy) => {
    const { rabbit, consumers } = on()
    const [queue, other] = [rabbit.name(), rabbit.name()]
    rabbit.delayQueues(queue, 100)
    const [begun, held] = [new Gate(), new Gate()]
    // Another process that has got the same message: one scope, one origin.
    const shared = { store: memoryStore(), scope: 'shared' }
    const hold: Handle = () => {
      begun.open()
      return held.opened
    }
    const owner = await consumers.run(rabbit.url, { queue: other }, hold, shared)
    await rabbit.send(other, ['a'], { headersOf: () => ({ 'consume-once-origin-queue': queue }) })
    await begun.opened
    const attempts: string[] = []
    const handle: Handle = ({ payload, attempt }) => attempts.push(`${payload} ${attempt}`)
    const options = { queue, lane: () => 'one', retry: way }
    const { running, watching } = await consumers.run(rabbit.url, options, handle, { ...shared, whenBusy })
    await rabbit.send(queue, ['a', 'b'])
    await watching.untilOutcomes('handed-back', 3)
    expect(attempts).toEqual(['b 1'])
    held.open()
    await owner.watching.untilOutcomes('handled', 1)
    await watching.untilOutcomes('duplicate', 1)
    expect(attempts).toEqual(['b 1'])
    expect(running.health().counts['delayed']).toBeGreaterThanOrEqual(3)
    await running.stop()
    expect(await rabbit.takeLeft(queue)).toEqual([])
  })
}

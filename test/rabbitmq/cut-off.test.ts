import { describe, expect, it } from '@jest/globals'
import { runRabbit, type RabbitOptions } from '../../adapters/amqplib/index.ts'
import { messageId, type Running } from '../../src/index.ts'
import { CutOffMembers, type CutOffMember } from '../kit/cut-off.ts'
import { eventually } from '../kit/eventually.ts'
import { openedOnce } from '../kit/opened.ts'
import { Rabbit } from './rabbit.ts'
import { bodies } from './watching.ts'
import { stoppedAfterEach } from '../kit/after-each.ts'

const LEAVE_AFTER_MS = 700

let rabbit: Rabbit
const running = stoppedAfterEach<Running>({ deadlineMs: 100 })

openedOnce(Rabbit, (made) => (rabbit = made))

async function start({ consumer }: CutOffMember, options: RabbitOptions): Promise<Running> {
  const one = await runRabbit(rabbit.url, consumer, { leaveAfterMs: LEAVE_AFTER_MS, ...options })
  running.push(one)
  return one
}

const WAYS: readonly (readonly [string, Partial<RabbitOptions>])[] = [
  ['a quorum queue', { prefetch: 64 }],
  ['a classic queue', { prefetch: 64, queueType: 'classic' }],
  ['a queue with a single active consumer', { singleActiveConsumer: true }],
]

describe('a consumer of RabbitMQ that loses its store', () => {
  it.each(WAYS)(
    'gives everything back on %s, another one handles it, and it consumes again when its store answers',
    async (_, options) => {
      const queue = rabbit.name()
      await using members = new CutOffMembers(messageId.property())
      const [cut, healthy] = [await members.add('cut'), await members.add('healthy')]
      const one = await start(cut, { ...options, queue })
      await rabbit.send(queue, ['first'])
      await eventually(() => members.ids.size === 1)
      cut.cutOff()
      await rabbit.send(queue, bodies(30))
      await cut.watching.untilTold('store-down')
      // It holds all of them, so without its leave the other one would get none.
      await eventually(async () => (await rabbit.ready(queue)) === 0)
      const other = await start(healthy, { ...options, queue })
      await eventually(() => members.ids.size === 31)
      expect(members.handled.filter((told) => told.startsWith('cut: ') && !told.endsWith('first'))).toEqual([])
      expect(one.health()).toMatchObject({
        live: true,
        ready: false,
        checks: { store: 'down', source: expect.stringMatching(/^left the queue: the store has been down for 700 ms/) },
      })
      expect(await rabbit.consumers(queue)).toBe(1)

      cut.mend()
      await eventually(() => one.health().ready)
      await other.stop()
      await rabbit.send(queue, ['last'])
      await eventually(() => members.handled.includes('cut: last'))
      expect(cut.watching.told('stepped-aside')).toBe(1)
      await one.stop()
      expect(await rabbit.ready(queue)).toBe(0)
    },
    60_000,
  )

  it('can be stopped while it is away', async () => {
    const queue = rabbit.name()
    await using members = new CutOffMembers(messageId.property())
    const cut = await members.add('cut')
    const one = await start(cut, { queue })
    cut.cutOff()
    await rabbit.send(queue, bodies(5))
    await cut.watching.untilTold('stepped-aside')
    await one.stop({ deadlineMs: 100 })
    expect(one.health()).toMatchObject({ state: 'stopped', checks: { source: 'closed' } })
    expect(await rabbit.ready(queue)).toBe(5)
  }, 60_000)

  it('leaves once and consumes again once when all have lost it, and nothing is set aside', async () => {
    const queue = rabbit.name()
    await using members = new CutOffMembers(messageId.property())
    const all = [await members.add('a'), await members.add('b'), await members.add('c')]
    const runs = [] as Running[]
    for (const member of all) runs.push(await start(member, { queue, prefetch: 64 }))
    for (const { cutOff } of all) cutOff()
    await rabbit.send(queue, bodies(90))
    await Promise.all(all.map(({ watching }) => watching.untilTold('stepped-aside')))
    await eventually(async () => (await rabbit.consumers(queue)) === 0 && (await rabbit.ready(queue)) === 90)

    for (const { mend } of all) mend()
    await eventually(() => members.ids.size === 90 && runs.every((each) => each.health().ready))
    for (const { watching } of all) {
      expect([watching.told('stepped-aside'), watching.told('rebuilt')]).toEqual([1, 1])
      expect(watching.ended('dead-lettered')).toBe(0)
    }
    await Promise.all(runs.map((one) => one.stop()))
    expect(await rabbit.ready(queue)).toBe(0)
  }, 60_000)
})

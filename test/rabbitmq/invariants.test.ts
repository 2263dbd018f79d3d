import { openedOnce } from '../kit/opened.ts'
import type { Delivery } from '../../src/internal.ts'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import type { RabbitDelivery } from '../../adapters/amqplib/consuming/delivery.ts'
import { AckWindow, type AckFrame } from '../../adapters/amqplib/settling/ack-window.ts'
import { hasCode } from '../../src/index.ts'
import { Consumers, type Opened } from './consumers.ts'
import { Rabbit } from './rabbit.ts'
import { bodies, textOf } from './watching.ts'

const consumers = new Consumers()
let rabbit: Rabbit
let queue: string
let opened: Opened

openedOnce(Rabbit, (made) => (rabbit = made))

/** A source that has taken three messages. */
beforeEach(async () => {
  queue = rabbit.name()
  opened = await consumers.open(rabbit.url, { queue, prefetch: 10 })
  await rabbit.send(queue, bodies(3))
  await opened.intake.untilDelivered(3)
})
afterEach(async () => {
  jest.restoreAllMocks()
  await consumers.end()
})

/** The next generation gets all three again, and settles them. */
async function untilSettledAnew(): Promise<void> {
  const { intake } = opened
  await intake.untilDelivered(6)
  expect(intake.deliveries.slice(3).map(textOf)).toEqual(bodies(3))
  for (const delivery of intake.deliveries.slice(3)) expect(delivery.settle()).toBe(true)
  await intake.until(() => intake.settled === 3)
  await opened.source.close()
  expect(await rabbit.takeLeft(queue)).toEqual([])
}

function broken(): readonly string[] {
  return opened.intake.events.flatMap((event) =>
    event.type === 'invariant-broken' && hasCode(event.error, 'INVARIANT_BROKEN') ? [event.error.message] : [],
  )
}

describe('a frame that must not be written', () => {
  const WRONG: readonly (readonly [string, readonly AckFrame[], string])[] = [
    [
      'over an unfinished delivery',
      [{ tag: 3, multiple: true, settles: 1 }],
      'an ack of all up to tag 3, with tag 2 unfinished (acks.mayWrite)',
    ],
    [
      'of what is not finished',
      [{ tag: 2, multiple: false, settles: 3 }],
      'a frame of tag 2 for 3: 3 told of 2 finished (acks.mayWrite)',
    ],
  ]

  it.each(WRONG)('%s is refused and told, and the channel opened anew', async (_, frames, message) => {
    jest.spyOn(AckWindow.prototype, 'takeFrames').mockReturnValueOnce([...frames])
    const { intake, tap } = opened
    const [first, , third] = intake.deliveries
    first?.settle()
    third?.settle()
    await intake.until(() => intake.told('rebuilt').length === 1)
    expect(broken()).toEqual([message])
    expect(intake.told('invariant-broken')).toHaveLength(1)
    expect(tap.consuming[0]?.frames.filter(({ kind }) => kind !== 'cancel')).toEqual([])
    await untilSettledAnew()
  })

  it('of a delivery that another frame has settled is refused and told', async () => {
    const { intake, tap } = opened
    const [first] = intake.deliveries
    jest
      .spyOn(AckWindow.prototype, 'takeFrames')
      .mockReturnValueOnce([1, 1].map((tag) => ({ tag, multiple: true, settles: 1 })))
    first?.settle()
    await intake.until(() => intake.told('rebuilt').length === 1)
    expect(broken()).toEqual(['a frame of tag 1 for 1: 2 told of 1 finished (acks.mayWrite)'])
    expect(tap.consuming[0]?.frames.filter(({ kind }) => kind === 'ack')).toHaveLength(1)
  })

  it('for a delivery of another channel is refused and told, and both messages come again', async () => {
    const { intake, source, tap } = opened
    await tap.consuming[0]?.channel.close()
    await intake.untilDelivered(6)
    const [old, , , next] = intake.deliveries as readonly Delivery[] as readonly RabbitDelivery[]
    expect(old && next?.generation.settle(old)).toBe(false)
    expect(broken()).toEqual(['tag 1 of generation 1 on generation 2 (generation.hasDelivered)'])
    await intake.until(() => intake.told('rebuilt').length === 2)
    await source.close()
    expect((await rabbit.takeLeft(queue)).map(({ body }) => body)).toEqual(bodies(3))
  })

  it('back to the queue for a delivery of another channel is refused too', async () => {
    const { intake, tap } = opened
    await tap.consuming[0]?.channel.close()
    await intake.untilDelivered(6)
    const [old, , , next] = intake.deliveries as readonly Delivery[] as readonly RabbitDelivery[]
    expect(old && next?.generation.handBack(old)).toBe(false)
    expect(broken()).toHaveLength(1)
    expect(tap.consuming[1]?.frames.filter(({ kind }) => kind === 'nack')).toEqual([])
  })
})

import { expect, it } from '@jest/globals'
import type { RabbitOptions } from '../../adapters/amqplib/index.ts'
import { openedOnce } from '../../test/kit/opened.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { Rabbit } from '../../test/rabbitmq/rabbit.ts'
import { RabbitWorker, type CrashPoint, type WorkerEvent } from '../kit/mortal/worker.ts'
import { openStores, type WorkerStores } from '../kit/worker-stores.ts'

let rabbit: Rabbit
let stores: WorkerStores

openedOnce(Rabbit, (made) => (rabbit = made))
openedOnce({ open: openStores }, (made) => (stores = made))

/** Reports of both processes about the message, in order: handler starts, effects and outcomes. */
const POINTS: readonly (readonly [CrashPoint | 'in the handler', readonly string[]])[] = [
  ['before the handler', ['dies', 'duplicate']],
  ['in the handler', ['started', 'dies', 'duplicate']],
  ['before the mark', ['started', 'effect', 'dies', 'duplicate']],
  ['after the mark', ['started', 'effect', 'dies', 'duplicate']],
]

it.each(POINTS)('mark-first: a process that is killed %s never repeats an effect [T250]', async (point, expected) => {
  const [queue, id] = [rabbit.name(), uniqueName('id')]
  const options: RabbitOptions = { queue, queueType: 'quorum' }
  const store = { ...stores.lease, options: { ...stores.lease.options, marks: 'before-handler' } } as const
  const life = { url: rabbit.url, options: [options], store }
  await using first = new RabbitWorker({ ...life, ...(point !== 'in the handler' && { dieAt: point }) })
  await first.untilTold('running')
  await rabbit.send(queue, [JSON.stringify(point === 'in the handler' ? { id, does: 'kill' } : { id })])
  expect(await first.ended).toBe('SIGKILL')
  await using second = new RabbitWorker(life)
  await second.untilTold('duplicate')
  await second.stop()
  expect([...told(first.events), ...told(second.events)]).toEqual(expected)
})

function told(events: readonly WorkerEvent[]): readonly string[] {
  return events
    .map(({ what }) => what)
    .filter((what) => ['started', 'effect', 'dies', 'duplicate', 'handled'].includes(what))
}

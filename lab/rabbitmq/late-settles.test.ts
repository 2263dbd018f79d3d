import { describe, expect, it } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { startProxyOf, type ProxyOf } from '../../test/kit/fault-proxy.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { Rabbit } from '../../test/rabbitmq/rabbit.ts'
import { RabbitWorker } from '../kit/mortal/worker.ts'
import { openStores, type WorkerStores } from '../kit/worker-stores.ts'

let rabbit: Rabbit
let proxy: ProxyOf
let stores: WorkerStores

beforeAllOpen(async (own) => {
  rabbit = own(await Rabbit.open())
  proxy = own(await startProxyOf(rabbit.url, 5672))
  stores = own(await openStores())
})

/** A process that an unhandled error or rejection would end. */
async function workerOf(queue: string): Promise<RabbitWorker> {
  const worker = new RabbitWorker({ url: proxy.url, options: [{ queue }], store: stores.lease, leaseMs: 10_000 })
  await worker.untilTold('running')
  return worker
}

/** Messages whose handlers wait. */
async function hold(worker: RabbitWorker, queue: string, count: number): Promise<void> {
  const before = worker.told('started').length
  const ids = Array.from({ length: count }, () => uniqueName('id'))
  await rabbit.send(
    queue,
    ids.map((id) => JSON.stringify({ id, does: 'wait' })),
  )
  await worker.untilTold('started', before + count)
}

describe('a process whose handlers end too late', () => {
  it('survives late settles after a cut, of a deleted queue, and during a stop, without an error', async () => {
    const queue = rabbit.name()
    await using worker = await workerOf(queue)
    await hold(worker, queue, 10)
    proxy.cut()
    await worker.untilTold('rebuilt')
    await hold(worker, queue, 1)
    await rabbit.delete(queue)
    worker.letGo()
    await worker.untilTold('consumer-cancelled')
    await worker.untilTold('rebuilt', 2)
    const next = uniqueName('id')
    await rabbit.send(queue, [JSON.stringify({ id: next })])
    await worker.until(() => worker.told('handled').includes(next))
    await worker.stop()
    expect(worker.told('effect')).toHaveLength(12)
    expect(worker.told('connection-lost')).toHaveLength(1)
    expect(await rabbit.takeLeft(queue)).toEqual([])
  })

  it('acks messages that its handlers finish during a stop', async () => {
    const queue = rabbit.name()
    await using worker = await workerOf(queue)
    await hold(worker, queue, 10)
    const stopping = worker.stop()
    worker.letGo()
    await stopping
    expect(worker.told('handled')).toHaveLength(10)
    expect(await rabbit.takeLeft(queue)).toEqual([])
  })
})

// A service of the chain: an effect for each order, and the event of it to the next service, in one transaction.
import { randomUUID } from 'node:crypto'
import { json } from 'consume-once'
import type { Worker, WorkerContext, WorkerHooks } from '../../kit/worker/module.ts'
import { EFFECTS, type Order, type ServiceSettings } from './orders.ts'

export default function service({ spec }: Worker<ServiceSettings, never>): WorkerHooks<Order> {
  const { to } = spec.settings
  const publish = async (order: Order, send: WorkerContext<Order>['publish']): Promise<void> => {
    if (to === undefined) return
    const body = JSON.stringify(order)
    if ('topic' in to) await send({ topic: to.topic, key: order.account, value: body })
    else await send({ exchange: to.exchange, routingKey: '', body, order: order.account })
  }
  const handle = async ({ payload, attempt, tx, publish: send }: WorkerContext<Order>): Promise<void> => {
    const run = randomUUID()
    await tx?.query(`insert into ${EFFECTS} (order_id, account, run) values ($1, $2, $3)`, [
      payload.id,
      payload.account,
      run,
    ])
    await publish({ ...payload, run }, send)
    if (payload.failsOnce && attempt === 1) throw new Error('the first run of this order fails')
  }
  return { consumer: { decode: json<Order>(), handle } }
}

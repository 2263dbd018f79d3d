import { expect, it } from '@jest/globals'
import { once } from '../../../../src/index.ts'
import { memoryStore } from '../../../../src/memory/index.ts'
import { eventually } from '../../eventually.ts'
import { Confirming } from './confirming.ts'
import type { OutboxUse } from './use.ts'

/** What is published, and when: what committed, under the IDs of its handler. */
export function itPublishesWhatCommitted<Tx>(use: OutboxUse<Tx>): void {
  it('publishes after the COMMIT what a handler wrote with its effect, and removes it then [T302]', async () => {
    const kafka = new Confirming()
    const seen: number[] = []
    kafka.answer = async ({ value }) => void seen.push(await use.rig.committed(`charge ${String(value)}`))
    const { send } = await use.consume(use.outbox(kafka), {
      handle: async ({ payload, tx, publish }) => {
        await use.rig.write(tx, `charge ${payload.n}`)
        await publish({ topic: 'charged', key: 'account', value: String(payload.n) })
      },
    })
    send(1, 2, 3)
    await eventually(async () => kafka.sent.length === 3)
    expect(seen).toEqual([1, 1, 1])
    await eventually(async () => (await use.rig.rows()) === 0)
    expect(kafka.sent.every(({ topic }) => topic === 'charged')).toBe(true)
  })

  // Published twice by the state of its inbox: https://github.com/MassTransit/MassTransit/issues/3791
  it('publishes nothing of a handler that fails, and under the same IDs what it writes in the end [T303]', async () => {
    const kafka = new Confirming()
    const ids: string[] = []
    const { send } = await use.consume(use.outbox(kafka), {
      handle: async ({ payload, publish, attempt, idempotencyKey }) => {
        ids.push(await publish({ topic: 'charged', value: `first of attempt ${attempt}` }))
        if (attempt === 1 && payload.n === 2) throw new Error('not yet')
        const second = await publish({ topic: 'charged', value: 'second' })
        expect(second).toBe(`${idempotencyKey}-1`)
      },
    })
    send(2)
    await eventually(async () => kafka.sent.length === 2)
    expect(kafka.texts).toEqual(['first of attempt 2', 'second'])
    expect(new Set(ids).size).toBe(1)
    expect(kafka.ids[0]).toBe(ids[0])
  })

  it('writes nothing for no messages, and makes no statement of none', async () => {
    const outbox = use.outbox(new Confirming())
    await use.commit(outbox, [])
    expect(await outbox.backlog()).toEqual([])
    expect(() => outbox.statement([])).toThrow('statement: expected at least one message, got none')
  })

  it('writes nothing through a pool, which would write outside of the transaction [T311]', async () => {
    const outbox = use.outbox(new Confirming())
    await expect(outbox.publish(use.rig.pool, { topic: 't', value: 'x' })).rejects.toThrow('got a pool')
    await expect(outbox.publish(use.rig.pool, [])).rejects.toThrow('outside of the transaction')
    expect(await outbox.backlog()).toEqual([])
  })

  // Rows stayed locked during a redelivery: https://github.com/MassTransit/MassTransit/issues/4299
  it('lets handlers publish while the broker answers nothing, with the same key too', async () => {
    const kafka = new Confirming()
    const answers: (() => void)[] = []
    kafka.answer = () => new Promise((resolve) => void answers.push(resolve))
    const { send } = await use.consume(use.outbox(kafka), {
      handle: async ({ payload, tx, publish, attempt }) => {
        await use.rig.write(tx, `charge ${payload.n}`)
        await publish({ topic: 't', key: 'a', value: String(payload.n) })
        if (attempt === 1) throw new Error('not yet')
      },
    })
    send(1)
    await eventually(() => answers.length === 1)
    send(2, 3)
    await eventually(async () => (await use.rig.committed('charge 2')) + (await use.rig.committed('charge 3')) === 2)
    expect(kafka.sent).toEqual([])
    await eventually(async () => {
      for (const answer of answers.splice(0)) answer()
      return (await use.rig.rows()) === 0
    })
    expect(kafka.texts.toSorted()).toEqual(['1', '2', '3'])
  })

  it('is refused under a store without one, with what to do, and after the end of the handler [T307]', async () => {
    const kafka = new Confirming()
    let kept: ((message: { topic: string; value: string }) => Promise<string>) | undefined
    const { broker, send } = await use.consume(undefined, {
      handle: async ({ publish }) => publish({ topic: 't', value: '' }),
    })
    send(1)
    await eventually(async () => broker.deadLetters.length === 1)
    expect(broker.deadLetters[0]?.detail).toContain('expected a store with an outbox')
    const other = await use.consume(use.outbox(kafka), {
      handle: async ({ publish }) => {
        kept = publish
        await publish({ topic: 't', value: 'in time' })
      },
    })
    other.send(2)
    await eventually(async () => kafka.sent.length === 1)
    expect(() => kept?.({ topic: 't', value: 'late' })).toThrow('the handler has ended')
  })

  it('takes what a function publishes that is called once, under the IDs of its key, and nothing of one that fails [T308]', async () => {
    const kafka = new Confirming()
    const outbox = use.begin(use.outbox(kafka))
    const store = use.rig.store(outbox)
    const keys: string[] = []
    const call = (isFailing: boolean): Promise<unknown> =>
      once(store, 'payment-1', async ({ publish, idempotencyKey, attempt }) => {
        keys.push(`${idempotencyKey}-0`, await publish({ topic: 'paid', value: `attempt ${attempt}` }))
        if (isFailing) throw new Error('declined')
      })
    await expect(call(true)).rejects.toThrow('declined')
    await call(false)
    await call(false)
    await eventually(async () => kafka.sent.length > 0 && (await use.rig.rows()) === 0)
    expect(kafka.texts).toEqual(['attempt 2'])
    expect(new Set([...keys, ...kafka.ids]).size).toBe(1)
    await expect(once(memoryStore(), 'x', ({ publish }) => publish({ topic: 't', value: '' }))).rejects.toThrow(
      'a lease, which has no transaction',
    )
  })
}

import { describe, expect, it } from '@jest/globals'
import { judgeChain, type ChainEffect, type ChainMessage } from './chain/judge.ts'
import { ordersOf } from './chain/orders.ts'

const orders = ordersOf(20)
const effects: readonly ChainEffect[] = orders.map(({ id, account }) => ({
  order_id: id,
  account,
  run: `run of ${id}`,
}))
const published: readonly ChainMessage[] = orders.map((order) => ({
  messageId: `id of ${order.id}`,
  order: { ...order, run: `run of ${order.id}` },
}))
const [first] = published
if (first === undefined) throw new TypeError('there are orders')

function judged(
  of: Partial<{ effects: readonly ChainEffect[]; published: readonly ChainMessage[] }>,
): readonly string[] {
  return judgeChain(orders, [{ service: 'a', effects, published, ...of }])
}

describe('the judge of a chain of services', () => {
  it('accepts what is published once, or again under its ID', () => {
    expect(judged({})).toEqual([])
    expect(judged({ published: [...published, first] })).toEqual([])
  })

  it('finds an effect that is missing or there twice', () => {
    expect(judged({ effects: effects.slice(0, -1), published: published.slice(0, -1) })).toEqual([
      'a: order-19 has 0 effects',
      'a: lost: order-19 was not published',
    ])
    expect(judged({ effects: [...effects, ...effects.slice(0, 1)] })).toContain('a: order-0 has 2 effects')
  })

  it('finds what was published by a run that was rolled back, under another ID, or before an earlier one', () => {
    const phantom = { ...first, order: { ...first.order, run: 'rolled back' } }
    expect(judged({ published: [...published, phantom] })).toEqual([
      'a: phantom: order-0 was published by a run that was rolled back',
    ])
    expect(judged({ published: [...published, { ...first, messageId: 'another' }] })).toContain(
      'a: order-0 was published under 2 IDs',
    )
    expect(judged({ published: published.toReversed() })).toContain(
      'a: order-0 of account-0 was published after a later one',
    )
  })
})

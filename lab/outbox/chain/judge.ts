import type { Order } from './orders.ts'

/** A row of a service, in the order of their commits as far as that of one account goes. */
export interface ChainEffect {
  readonly order_id: string
  readonly account: string
  readonly run: string
}

/** A message that a broker has, in the order of its partition or queue. */
export interface ChainMessage {
  readonly messageId: string
  readonly order: Order
}

/** A service, and what was found of what it has published; none of the last. */
export interface Step {
  readonly service: string
  readonly effects: readonly ChainEffect[]
  readonly published: readonly ChainMessage[] | undefined
}

/** What is wrong, one line each. */
export function judgeChain(orders: readonly Order[], steps: readonly Step[]): readonly string[] {
  return steps.flatMap((step) =>
    [
      ...judgeEffects(orders, step),
      ...(step.published === undefined ? [] : judgePublished(orders, step.effects, step.published)),
    ].map((wrong) => `${step.service}: ${wrong}`),
  )
}

function judgeEffects(orders: readonly Order[], { effects }: Step): readonly string[] {
  const counts = new Map<string, number>()
  for (const { order_id: id } of effects) counts.set(id, (counts.get(id) ?? 0) + 1)
  return orders.flatMap(({ id }) => (counts.get(id) === 1 ? [] : [`${id} has ${counts.get(id) ?? 0} effects`]))
}

function judgePublished(
  orders: readonly Order[],
  effects: readonly ChainEffect[],
  published: readonly ChainMessage[],
): readonly string[] {
  const ids = new Map<string, Set<string>>()
  for (const { messageId, order } of published) ids.set(order.id, (ids.get(order.id) ?? new Set()).add(messageId))
  const runs = new Set(effects.map(({ run }) => run))
  return [
    ...orders.flatMap(({ id }) => (ids.has(id) ? [] : [`lost: ${id} was not published`])),
    ...[...ids].flatMap(([id, all]) => (all.size === 1 ? [] : [`${id} was published under ${all.size} IDs`])),
    ...published.flatMap(({ order }) =>
      runs.has(order.run ?? '') ? [] : [`phantom: ${order.id} was published by a run that was rolled back`],
    ),
    ...misplaced(effects, published),
  ]
}

/** Of each account, the first publications are in the order of the commits. */
function misplaced(effects: readonly ChainEffect[], published: readonly ChainMessage[]): readonly string[] {
  const place = new Map(effects.map(({ run }, at) => [run, at]))
  const last = new Map<string, number>()
  const seen = new Set<string>()
  return published.flatMap(({ messageId, order }) => {
    if (seen.has(messageId)) return []
    seen.add(messageId)
    const at = place.get(order.run ?? '') ?? 0
    const isLate = at < (last.get(order.account) ?? -1)
    last.set(order.account, at)
    return isLate ? [`${order.id} of ${order.account} was published after a later one`] : []
  })
}

/** Which message each delivery of a topic or queue brings. */
export interface Deliveries {
  readonly messages: number
  /** Distinct IDs: 0, 1, 2, ... in the order of their first deliveries. */
  readonly ids: number
  /** ID of the n-th delivery. */
  readonly idOf: (delivery: number) => number
}

/** Every fifth delivery repeats an earlier one. */
const BLOCK = 5
const NEW_IDS = BLOCK - 1
/** 10 to 100 deliveries back, in IDs, which four of five bring. */
const NEAR = { least: 8, most: 79 }

/** Each ID once. */
export function eachOnce(messages: number): Deliveries {
  return { messages, ids: messages, idOf: (delivery) => delivery }
}

/**
 * A fifth are repeats of what was delivered before: half of them near, 10 to 100 deliveries later, and half of them far, a
 * quarter or half of all deliveries later. Always the same for as many messages.
 */
export function withDuplicates(messages: number): Deliveries {
  const ids = messages - Math.floor(messages / BLOCK)
  return { messages, ids, idOf: (delivery) => idOf(delivery, ids) }
}

/** How often each ID is delivered. */
export function timesDelivered(deliveries: Deliveries): Uint8Array {
  const times = new Uint8Array(deliveries.ids)
  for (let delivery = 0; delivery < deliveries.messages; delivery++) {
    const id = deliveries.idOf(delivery)
    times[id] = (times[id] ?? 0) + 1
  }
  return times
}

function idOf(delivery: number, ids: number): number {
  const block = Math.floor(delivery / BLOCK)
  const place = delivery % BLOCK
  if (place < NEW_IDS) return block * NEW_IDS + place
  const newest = block * NEW_IDS + NEW_IDS - 1
  return Math.max(0, newest - idsBack(block, newest, ids))
}

/** Nothing lies a quarter before the first quarter: its repeats are all near, and two of three later ones far. */
function idsBack(block: number, newest: number, ids: number): number {
  const quarter = Math.floor(ids / 4)
  const spread = scrambled(block)
  if (newest < quarter + NEW_IDS || block % 3 === 0) return NEAR.least + (spread % (NEAR.most - NEAR.least + 1))
  // A few more or less, so that they are not all in the same partitions.
  const few = spread % NEW_IDS
  return block % 3 === 1 && newest >= 2 * quarter + NEW_IDS ? 2 * quarter + few : quarter + few
}

/** Spreads neighbours evenly, without a pattern. */
function scrambled(block: number): number {
  const mixed = Math.imul(block ^ (block >>> 15), 0x2c1b3c6d)
  return (mixed ^ (mixed >>> 13)) >>> 0
}

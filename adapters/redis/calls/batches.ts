/**
 * A script of 500 keys blocks the server for 1.5 to 2.5 ms, and no other client gets an answer meanwhile. 128 is half
 * of 256 handler slots.
 */
export const KEYS_PER_SCRIPT = 128

/** A batch, divided into one part for each script call. */
export interface Parts<Item> {
  readonly parts: readonly (readonly Item[])[]
  /** Index in the batch of each item of all parts in a row; `undefined`: same order as the batch. */
  readonly places: readonly number[] | undefined
}

export function inOrder<Item>(batch: readonly Item[]): Parts<Item> {
  return { parts: slicesOf(batch), places: undefined }
}

/** No part contains keys of two shards. */
export function byShard<Item>(batch: readonly Item[], shardOfItem: (item: Item) => number): Parts<Item> {
  const shards = new Map<number, { readonly items: Item[]; readonly places: number[] }>()
  for (const [place, item] of batch.entries()) {
    const shard = shardOfItem(item)
    let own = shards.get(shard)
    if (own === undefined) shards.set(shard, (own = { items: [], places: [] }))
    own.items.push(item)
    own.places.push(place)
  }
  const all = [...shards.values()]
  return { parts: all.flatMap(({ items }) => slicesOf(items)), places: all.flatMap(({ places }) => places) }
}

/** Puts the answers of all parts in a row into the order of the batch. */
export function inPlace<T>(answers: readonly T[], { places }: Parts<unknown>): readonly T[] {
  if (places === undefined) return answers
  const placed: T[] = Array.from(answers)
  for (const [at, answer] of answers.entries()) placed[places[at] ?? at] = answer
  return placed
}

function slicesOf<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  if (items.length <= KEYS_PER_SCRIPT) return items.length === 0 ? [] : [items]
  const slices: (readonly Item[])[] = []
  for (let at = 0; at < items.length; at += KEYS_PER_SCRIPT) slices.push(items.slice(at, at + KEYS_PER_SCRIPT))
  return slices
}

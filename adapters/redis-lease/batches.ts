/** A script of 500 keys blocks the server for 1.5 to 2.5 ms: no other client gets an answer meanwhile. Half of 256 slots is one. */
const KEYS_PER_SCRIPT = 128

/** Which shard a key lives in: told by its first characters, which are those of a digest. */
export function shardOf(key: string, shards: number): number {
  let sum = 0
  for (let at = 0; at < 4 && at < key.length; at++) sum = sum * 31 + key.charCodeAt(at)
  return sum % shards
}

/** A batch in the parts that one script each is for. */
export interface Parts<Item> {
  readonly parts: readonly (readonly Item[])[]
  /** Where in the batch the items of all parts, one after the other, stand; `undefined`: as they do there. */
  readonly places: readonly number[] | undefined
}

export function inOrder<Item>(batch: readonly Item[]): Parts<Item> {
  return { parts: slicesOf(batch), places: undefined }
}

/** No part meets two shards. */
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

/** Answers of all parts, one after the other, in the order of the batch. */
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

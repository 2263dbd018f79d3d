/** A script of 500 keys blocks the server for 1.5 to 2.5 ms: no other client gets an answer meanwhile. */
const KEYS_PER_SCRIPT = 100

/** What goes into one script, each with its place in the batch. */
export type Group<Item> = readonly { readonly item: Item; readonly place: number }[]

/** Which shard a key lives in: told by its first characters, which are those of a digest. */
export function shardOf(key: string, shards: number): number {
  let sum = 0
  for (const character of key.slice(0, 4)) sum = sum * 31 + (character.codePointAt(0) ?? 0)
  return sum % shards
}

/** Splits a batch into scripts; with `shard`, no script meets two shards. */
export function splitBatch<Item>(
  items: readonly Item[],
  shard: (item: Item) => number = () => 0,
): readonly Group<Item>[] {
  const full: Group<Item>[] = []
  const filling = new Map<number, { item: Item; place: number }[]>()
  for (const [place, item] of items.entries()) {
    const group = filling.get(shard(item)) ?? []
    if (group.length === 0) filling.set(shard(item), group)
    group.push({ item, place })
    if (group.length < KEYS_PER_SCRIPT) continue
    full.push(group)
    filling.delete(shard(item))
  }
  return [...full, ...filling.values()]
}

/** Answers of each group, in the order of the batch that was split. */
export function joinBatch<T>(groups: readonly Group<unknown>[], answers: readonly (readonly T[])[]): readonly T[] {
  const placed = groups.flatMap((group, index) =>
    (answers[index] ?? []).map((answer, at) => ({ answer, place: group[at]?.place ?? 0 })),
  )
  return placed.toSorted((a, b) => a.place - b.place).map(({ answer }) => answer)
}

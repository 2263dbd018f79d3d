/** After so many new entries it begins anew. By the second time most of them are gone. */
const NEW_AFTER = 4_096

/**
 * A Map for entries that come and go by the thousand. Whenever a `Map` grows, shrinks or has no room left, V8 leaves its
 * former table behind, with a pointer to the next one and with all that was in it. As soon as one of them is in the old
 * generation, all later ones are kept until that is collected, and with them what their entries hold: nothing dies young.
 * So this one consists of two, of which the older is dropped again and again, with its tables.
 */
export class PassingMap<K, V> {
  #newer = new Map<K, V>()
  #older = new Map<K, V>()
  #left = NEW_AFTER

  get(key: K): V | undefined {
    return this.#newer.get(key) ?? (this.#older.size === 0 ? undefined : this.#older.get(key))
  }

  /** The key must not be there yet. */
  add(key: K, value: V): void {
    if (this.#left-- === 0) this.#beginAnew()
    this.#newer.set(key, value)
  }

  /** The key must be there. */
  replace(key: K, value: V): void {
    const holder = this.#newer.has(key) ? this.#newer : this.#older
    holder.set(key, value)
  }

  delete(key: K): void {
    if (!this.#newer.delete(key)) this.#older.delete(key)
  }

  /** In no order. Entries may be deleted meanwhile, but not added. */
  *[Symbol.iterator](): Generator<[K, V]> {
    yield* this.#older
    yield* this.#newer
  }

  #beginAnew(): void {
    const kept = this.#older
    this.#older = this.#newer
    this.#newer = new Map(kept)
    // Each entry that stays is moved once for a new one at the most.
    this.#left = Math.max(NEW_AFTER, kept.size)
  }
}

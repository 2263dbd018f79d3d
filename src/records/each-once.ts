import type { Key } from '../core/record.ts'

/** Keeps each record of a list once: a store may have it on two pages (`RecordPage.looked`). */
export class EachOnce {
  readonly #seen = new Set<Key>()

  of<T extends { readonly key: Key }>(records: readonly T[]): readonly T[] {
    return records.filter(({ key }) => {
      if (this.#seen.has(key)) return false
      this.#seen.add(key)
      return true
    })
  }
}

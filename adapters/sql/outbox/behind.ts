import type { StoredRow } from './statements.ts'

interface Behind {
  readonly free: readonly StoredRow[]
  /** The first of its line that is behind another. */
  readonly first: readonly string[]
  readonly others: readonly string[]
}

/** Numbers as text. */
export function compareIds(one: string, other: string): number {
  return one.length - other.length || (one < other ? -1 : one > other ? 1 : 0)
}

/**
 * Rows that are due, without those behind another of their line.
 *
 * @param due - by their IDs
 * @param waiting - the two oldest of each line that are put off and not among these, by their IDs
 */
export function withoutThoseBehind(
  due: readonly StoredRow[],
  waiting: readonly { readonly line: number; readonly id: string }[],
): Behind {
  const before = new Map<number, readonly string[]>()
  for (const { line, id } of waiting) before.set(line, [...(before.get(line) ?? []), id])
  const hasFirst = new Set<number>()
  const [free, first, others]: [StoredRow[], string[], string[]] = [[], [], []]
  for (const row of due) {
    const [head, second] = before.get(row.line) ?? []
    if (head === undefined || compareIds(row.id, head) < 0) {
      free.push(row)
      continue
    }
    const isFirst = !hasFirst.has(row.line) && (second === undefined || compareIds(row.id, second) < 0)
    hasFirst.add(row.line)
    ;(isFirst ? first : others).push(row.id)
  }
  return { free, first, others }
}

/** The known name with the fewest differences; failing that, one that the given name begins, or that begins it. */
export function nearestTo(given: string, names: readonly string[]): string | undefined {
  for (const edits of [0, 1, 2]) {
    const found = names.find((known) => isMisspelt(given, known, edits))
    if (found !== undefined) return found
  }
  if (given.length < SHORTEST_PART) return undefined
  const [short, ...others] = names.filter((known) => known.startsWith(given) || given.startsWith(known))
  return others.length === 0 ? short : undefined
}

const SHORTEST_PART = 4

/** True if at most so many letters, and at most a third of them, are missing, added or changed; case does not count. */
function isMisspelt(given: string, known: string, edits: number): boolean {
  const most = Math.min(edits, Math.floor(Math.max(given.length, known.length) / 3))
  return areWithin(most, given.toLowerCase(), known.toLowerCase())
}

/** Whether at most `edits` insertions, deletions and substitutions lead from `a` to `b`. */
function areWithin(edits: number, a: string, b: string): boolean {
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  const [restOfA, restOfB] = [a.slice(at), b.slice(at)]
  if (restOfA === restOfB) return true
  if (edits === 0) return false
  const [afterA, afterB] = [restOfA.slice(1), restOfB.slice(1)]
  return (
    areWithin(edits - 1, afterA, restOfB) ||
    areWithin(edits - 1, restOfA, afterB) ||
    areWithin(edits - 1, afterA, afterB)
  )
}

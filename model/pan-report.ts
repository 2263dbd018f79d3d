/** Result of a search. */
type Finding =
  | { readonly kind: 'nothing' }
  /** In the words of the search: an assertion, an invalid end state, an acceptance cycle. */
  | { readonly kind: 'violation'; readonly text: string }
  /** It ended before it had seen everything. */
  | { readonly kind: 'incomplete'; readonly why: string }

export interface PanReport {
  readonly states: number
  readonly transitions: number
  readonly depth: number
  readonly finding: Finding
}

/** Messages of a search that was cut short although it prints `errors: 0`. */
const LIMITS = /out of memory|max search depth too small|search not completed|bit statespace|hash-?compact|aborting/i

/** Reads the output of a search. A search that says nothing of its end has not ended. */
export function readReport(output: string): PanReport {
  const numberOf = (pattern: RegExp): number => Number(pattern.exec(output)?.[1] ?? Number.NaN)
  const states = numberOf(/^\s*(\S+) states, stored/m)
  const transitions = numberOf(/^\s*(\S+) transitions/m)
  const depth = numberOf(/depth reached (\d+)/)
  return { states, transitions, depth, finding: findingIn(output) }
}

function findingIn(output: string): Finding {
  const violation = /^pan:1: (.*?)(?: \(at depth \d+\))?$/m.exec(output)?.[1]
  // A search ends with the first error, so it says of itself that it was not completed.
  if (violation !== undefined && !/memory|aborting/i.test(violation)) return { kind: 'violation', text: violation }
  const limit = LIMITS.exec(output)?.[0]
  if (limit !== undefined) return { kind: 'incomplete', why: limit }
  if (/errors: 0$/m.test(output)) return { kind: 'nothing' }
  return { kind: 'incomplete', why: `no count of errors in the output of the search:\n${output.trim().slice(-400)}` }
}

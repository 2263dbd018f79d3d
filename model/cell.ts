/** One question to a model: under these rules and faults, what must a search of every interleaving find? */
export interface Cell {
  readonly name: string
  /** File in model/promela, without its ending. */
  readonly model: string
  /** The checked property, or the bent rule. */
  readonly shows: string
  /** Names the model is compiled with; what is not named here has the model's default, which is what is built. */
  readonly defines: Defines
  readonly search: Search
  readonly expect: Expectation
  /** Runs in the short form too. */
  readonly quick?: boolean
}

export type Defines = Readonly<Record<string, number | string>>

/**
 * - `reduced`: every state but those that partial-order reduction shows to be equivalent to another.
 * - `full`: every state, without that reduction.
 * - `shortest`: every state, nearest first, so that what is found is found in the shortest way.
 * - `fair`: every cycle too, in which each process that could go on does so at last (weak fairness).
 */
export type Search = 'reduced' | 'full' | 'shortest' | 'fair'

/**
 * A law is the first word of a `LAW(...)` in the model, or the name of its `ltl`. A state in which nobody can go on breaks law
 * `no deadlock`.
 */
export type Expectation =
  | { readonly kind: 'holds' }
  | { readonly kind: 'violated'; readonly law: string }
  /** A state that must be reachable, or the model shows nothing: law `REACH` says that it is not. */
  | { readonly kind: 'reached' }

export const HOLDS: Expectation = { kind: 'holds' }
export const REACHED: Expectation = { kind: 'reached' }

export function violates(law: string): Expectation {
  return { kind: 'violated', law }
}

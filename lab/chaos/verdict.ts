/** One law broken, with what a person needs to look into it. */
export interface Violation<Law extends string = string> {
  readonly law: Law
  readonly detail: string
}

export interface Verdict<Law extends string = string> {
  readonly violations: readonly Violation<Law>[]
  readonly figures: Readonly<Record<string, number>>
}

/** A line of JSON each. */
export type ProviderRequest =
  | { readonly ask: 'effect'; readonly log: string; readonly id: string; readonly token: string; readonly key?: string }
  | { readonly ask: 'log'; readonly log: string }

/** An effect that was asked for, at its true time. */
export interface LoggedEffect {
  readonly at: number
  readonly id: string
  readonly token: string
  /** `false`: its key was known, nothing was done. */
  readonly isAccepted: boolean
}

export type ProviderReply = { readonly isAccepted: boolean } | { readonly effects: readonly LoggedEffect[] }

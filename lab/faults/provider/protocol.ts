/** One line of JSON. */
export type ProviderRequest =
  | { readonly ask: 'effect'; readonly log: string; readonly id: string; readonly token: string; readonly key?: string }
  | { readonly ask: 'log'; readonly log: string }

/** A requested effect with its true time. */
export interface LoggedEffect {
  readonly at: number
  readonly id: string
  readonly token: string
  /** `false`: the key was known, so there was no effect. */
  readonly isAccepted: boolean
}

export type ProviderReply = { readonly isAccepted: boolean } | { readonly effects: readonly LoggedEffect[] }

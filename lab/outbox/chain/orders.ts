/** What goes through the chain. */
export interface Order {
  readonly id: string
  readonly account: string
  /** Its first run in each service publishes, and fails after that. */
  readonly failsOnce: boolean
  /** Of the run of a handler that has published it; none from the producer. */
  readonly run?: string
}

export interface ServiceSettings {
  /** Where it publishes; the last one has none. */
  readonly to?: { readonly topic: string } | { readonly exchange: string }
}

/** The table of effects of each service, in its schema. Without a key: doubles must be seen. */
export const EFFECTS = 'effect'

const ACCOUNTS = 7

export function ordersOf(count: number): readonly Order[] {
  return Array.from({ length: count }, (_, n) => ({
    id: `order-${n}`,
    account: `account-${n % ACCOUNTS}`,
    failsOnce: n % 11 === 3,
  }))
}

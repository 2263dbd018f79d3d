/**
 * Carries short texts between the processes that share what is done (`withDoneCache`). Texts may get lost, but a channel
 * says when that may have happened. Who can publish on it can make messages count as done: protect it as the store.
 */
export interface DoneChannel {
  /** Resolves when the server has it. At most 7,500 bytes. */
  publish(text: string): Promise<void>
  /** Starts to listen. It comes back by itself after a lost connection. */
  subscribe(ears: DoneEars): void
}

export interface DoneEars {
  /** From now on every text arrives. What was known before may be out of date. */
  readonly onOpen: () => void
  /** From now on texts may be missing. May be called too often. */
  readonly onLost: () => void
  readonly onText: (text: string) => void
}

import type { Journal } from './journal.ts'
import type { WorkerSlot } from './worker-slot.ts'

/** Runs alongside the messages until the broker has nothing left. It must not throw because of a fault. */
export type Beside = (scene: Scene, until: AbortSignal) => Promise<void>

export interface Scene {
  readonly postgresUrl: string
  /** With it: a lease there. Without: an inbox. */
  readonly redisUrl: string | undefined
  readonly journal: Journal
  readonly workers: readonly WorkerSlot[]
  /** Messages that the broker still has for them. */
  readonly backlog: () => Promise<number>
}

export async function nothingBeside(): Promise<void> {}

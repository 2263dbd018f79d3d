import type { Job } from '../../suite.ts'

/** Runs what it is given, unless that has run under this ID before. Resolves when the mark is durable. */
type Once = (id: string, run: () => Promise<void>) => Promise<void>

/** Lends a `Once` for one run. A claim of a dead worker is free again after `leaseMs`, 30 s unless given. */
export type WithOnce = <T>(job: Job, consume: (once: Once) => Promise<T>, leaseMs?: number) => Promise<T>

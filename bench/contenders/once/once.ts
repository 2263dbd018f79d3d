import type { Job } from '../../suite.ts'

/** Runs what it is given, unless that has run under this ID before. Resolves when the mark is durable. */
type Once = (id: string, run: () => Promise<void>) => Promise<void>

/** Lends it for the time of one run. What a worker that died has claimed is free again after `leaseMs`, 30 s unless given. */
export type WithOnce = <T>(job: Job, consume: (once: Once) => Promise<T>, leaseMs?: number) => Promise<T>

/** Loads its client where it is used. */
export type LoadOnce = () => Promise<WithOnce>

export const bySetNx: LoadOnce = async () => (await import('./set-nx.ts')).bySetNx
export const byPowertools: LoadOnce = async () => (await import('./powertools.ts')).byPowertools
export const byInboxRow: LoadOnce = async () => (await import('./inbox-row.ts')).byInboxRow

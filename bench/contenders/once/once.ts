import type { WithOnce } from './with-once.ts'

/** Loads its client where it is used. */
export type LoadOnce = () => Promise<WithOnce>

export const bySetNx: LoadOnce = async () => (await import('./set-nx.ts')).bySetNx
export const byPowertools: LoadOnce = async () => (await import('./powertools.ts')).byPowertools
export const byInboxRow: LoadOnce = async () => (await import('./inbox-row.ts')).byInboxRow

import { latestOf, sinceFirst, sinceKept, type KnownSince } from '../../../src/internal.ts'
import type { ScopeTimes } from './statements.ts'

export function knownSince({ first_claim_at: first, purged_to, retentions, now }: ScopeTimes): KnownSince | undefined {
  if (first === null) return undefined
  const purged = purged_to === null ? [] : [{ at: Number(purged_to), because: 'the last purge' }]
  return latestOf(sinceFirst(Number(first)), [...purged, ...sinceKept(Number(now), usedIn(retentions))])
}

function usedIn(retentions: string | null): readonly (readonly [number, number])[] {
  const used = JSON.parse(retentions ?? '{}') as Readonly<Record<string, number>>
  return Object.entries(used).map(([retentionMs, until]) => [Number(retentionMs), until])
}

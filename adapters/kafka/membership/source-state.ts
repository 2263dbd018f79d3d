import { countedText, type SourceHealth } from '../../../src/internal.ts'

/**
 * States of a source. Every failure leads to `waiting`, and from there to the next join, for ever. `away`: it has left
 * the group, because its store is down; what kafkajs tells until it comes back changes nothing.
 *
 *   idle ──> connecting ──> joining ──> consuming <──> rebalancing
 *                └───> waiting <────────────┘ └──> away ──> waiting
 *   any of them ──> stopped
 */
export type SourceState =
  | { readonly phase: 'idle' | 'connecting' | 'joining' | 'rebalancing' | 'stopped' }
  | { readonly phase: 'consuming'; readonly partitions: number }
  | { readonly phase: 'waiting'; readonly detail: string }
  | { readonly phase: 'away'; readonly why: string }

/** The state after `next` was observed. */
export function after(state: SourceState, next: SourceState | { readonly phase: 'back' }): SourceState {
  if (next.phase === 'back') return state.phase === 'away' ? { phase: 'waiting', detail: 'joining again' } : state
  if (state.phase === 'stopped' || (state.phase === 'away' && next.phase !== 'stopped')) return state
  return next
}

export function healthOf(state: SourceState): Pick<SourceHealth, 'ready' | 'detail'> {
  switch (state.phase) {
    case 'idle':
      return { ready: false, detail: 'not started' }
    case 'consuming':
      return { ready: true, detail: assigned(state.partitions) }
    case 'waiting':
      return { ready: false, detail: state.detail }
    case 'away':
      return { ready: false, detail: `left the group: ${state.why}` }
    case 'connecting':
    case 'joining':
    case 'rebalancing':
    case 'stopped':
      return { ready: false, detail: state.phase }
  }
}

/** A member without a partition is ready: it takes over from another one at once. */
function assigned(partitions: number): string {
  if (partitions === 0) return 'joined, no partition assigned'
  return countedText(partitions, 'partition')
}

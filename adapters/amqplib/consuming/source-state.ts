import type { SourceHealth } from '../../../src/internal.ts'
import type { Generation } from './generation.ts'

/**
 * States of a source.
 *
 *   idle ──> building ──> consuming ──> backing-off ──> building ──> …
 *                └──> backing-off ──┘
 *   building, consuming, backing-off ──> away ──> backing-off          its store is down, and others shall consume
 *   any of them ──> draining ──> closed          a start that fails ──> closed
 *
 * Every failure (connection, channel, a cancelled consumer, a failed set-up) leads to `backing-off`, and from there to
 * the next build, for ever. While it is `away` nothing that happens to the connection matters. Only `building`, `consuming` and `backing-off` react to failures. So during a stop the
 * connections that the stop itself closes cause no transition.
 */
export type SourceState =
  | { readonly phase: 'idle' }
  | { readonly phase: 'building'; readonly attempt: number; readonly why: string | undefined }
  | { readonly phase: 'consuming'; readonly attempt: number; readonly generation: Generation; readonly since: number }
  | { readonly phase: 'backing-off'; readonly attempt: number; readonly why: string; readonly cancel: () => void }
  /** `left` resolves when the broker has all deliveries back. */
  | { readonly phase: 'away'; readonly why: string; readonly left: Promise<void> }
  | { readonly phase: 'draining'; readonly generation: Generation | undefined }
  | { readonly phase: 'closed' }

type Phase = SourceState['phase']

const NEXT: Readonly<Record<Phase, readonly Phase[]>> = {
  idle: ['building', 'draining', 'closed'],
  building: ['consuming', 'backing-off', 'away', 'draining', 'closed'],
  consuming: ['backing-off', 'away', 'draining'],
  'backing-off': ['building', 'away', 'draining'],
  away: ['backing-off', 'draining'],
  draining: ['draining', 'closed'],
  closed: [],
}

export function assertMove(from: SourceState, to: SourceState): void {
  if (!NEXT[from.phase].includes(to.phase))
    throw new TypeError(`RabbitSource: no way from ${from.phase} to ${to.phase}`)
}

export function healthOf(state: SourceState, isPaused: boolean): SourceHealth {
  switch (state.phase) {
    case 'idle':
      return { ready: false, detail: 'not started' }
    case 'building':
    case 'backing-off':
      return state.why === undefined
        ? { ready: false, detail: 'connecting' }
        : { ready: false, detail: `reconnecting, attempt ${state.attempt}: ${state.why}` }
    case 'consuming':
      return { ready: !isPaused, detail: isPaused ? 'paused' : 'consuming' }
    case 'away':
      return { ready: false, detail: `left the queue: ${state.why}` }
    case 'draining':
    case 'closed':
      return { ready: false, detail: state.phase }
  }
}

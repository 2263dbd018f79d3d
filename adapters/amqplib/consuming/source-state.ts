import type { SourceHealth } from '../../../src/spi.ts'
import type { Generation } from './generation.ts'

/**
 * States of a source.
 *
 *   idle ──> building ──> consuming ──> backing-off ──> building ──> …
 *                └──> backing-off ──┘
 *   any of them ──> draining ──> closed          a start that fails ──> closed
 *
 * Every failure (connection, channel, a cancelled consumer, a failed set-up) leads to `backing-off`, and from there to
 * the next build, for ever. Only `building`, `consuming` and `backing-off` react to failures. So during a stop the
 * connections that the stop itself closes cause no transition.
 */
export type SourceState =
  | { readonly phase: 'idle' }
  | { readonly phase: 'building'; readonly attempt: number; readonly why: string | undefined }
  | { readonly phase: 'consuming'; readonly attempt: number; readonly generation: Generation; readonly since: number }
  | { readonly phase: 'backing-off'; readonly attempt: number; readonly why: string; readonly cancel: () => void }
  | { readonly phase: 'draining'; readonly generation: Generation | undefined }
  | { readonly phase: 'closed' }

type Phase = SourceState['phase']

const NEXT: Readonly<Record<Phase, readonly Phase[]>> = {
  idle: ['building', 'draining', 'closed'],
  building: ['consuming', 'backing-off', 'draining', 'closed'],
  consuming: ['backing-off', 'draining'],
  'backing-off': ['building', 'draining'],
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
    case 'draining':
    case 'closed':
      return { ready: false, detail: state.phase }
  }
}

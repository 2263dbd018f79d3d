import type { ObserverEvent } from '../../../src/index.ts'

export interface Observed {
  /** The outcome of a delivery, an event of the source, or the type of another event. */
  readonly what: string
  /** ID of the message. */
  readonly id?: string | undefined
  readonly detail?: string | undefined
}

/** Report of a consumer event. `undefined`: a figure, which is not reported. */
export function observed(event: ObserverEvent): Observed | undefined {
  switch (event.type) {
    case 'delivery':
      return { what: event.outcome, id: idOf(event.message.value) }
    case 'in-doubt':
    case 'beyond-retention':
    case 'unprotected-run':
      return { what: event.type, id: idOf(event.message.value) }
    case 'source':
      return { what: event.event, detail: event.detail }
    case 'attempt-failed':
    case 'put-off':
    case 'limit-down':
    case 'limit-up':
    case 'invariant-broken':
    case 'lease-lost':
    case 'policy-threw':
    case 'publish-failed':
    case 'purge-failed':
    case 'result-not-kept':
    case 'decode-down':
    case 'decode-up':
    case 'store-down':
    case 'store-up':
    case 'stuck':
      return { what: event.type, detail: 'error' in event ? String(event.error) : undefined }
    case 'observed':
    case 'holding':
    case 'hold-over':
    case 'paused':
    case 'resumed':
    case 'apart':
    case 'claims':
    case 'handler-run':
    case 'marks':
    case 'purged':
    case 'settles':
    case 'stall-over':
    case 'stalled':
    case 'started':
    case 'stopped':
    case 'store-call':
      return undefined
  }
}

/** Messages of workers are JSON, with their ID in it. */
function idOf(value: Uint8Array | null): string {
  return (JSON.parse(Buffer.from(value ?? '').toString()) as { readonly id: string }).id
}

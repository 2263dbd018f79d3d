import type { Message, ObserverEvent } from '../../src/index.ts'
import { PUBLISH_HEADER } from './sources/demo-source.ts'

/** Counts the events of this run, from the observer and from the messages themselves. */
export class Tally {
  delivered = 0
  ended = 0
  settled = 0
  handled = 0
  duplicates = 0
  joined = 0
  redeliveries = 0
  conflicts = 0
  dead_lettered = 0
  parked = 0
  in_doubt = 0
  failed = 0
  readonly #published = new Set<string>()

  /** Called once for each delivery, before anything else happens to it. */
  arrived({ headers }: Message): void {
    this.delivered++
    const publishId = String(headers[PUBLISH_HEADER])
    if (this.#published.has(publishId)) this.redeliveries++
    else this.#published.add(publishId)
  }

  observe(event: ObserverEvent): void {
    switch (event.type) {
      case 'delivery':
        this.ended++
        return this.#ended(event.outcome === 'settle-refused' ? event.refused : event.outcome, event.reason)
      case 'settles':
        this.settled += event.count
        return
      case 'attempt-failed':
        this.failed++
        return
      case 'in-doubt':
        this.in_doubt++
        return
      case 'observed':
      case 'unprotected-run':
      case 'result-not-kept':
      case 'policy-threw':
      case 'beyond-retention':
      case 'purged':
      case 'purge-failed':
      case 'apart':
      case 'claims':
      case 'marks':
      case 'lease-lost':
      case 'started':
      case 'stalled':
      case 'stall-over':
      case 'decode-down':
      case 'decode-up':
      case 'holding':
      case 'hold-over':
      case 'paused':
      case 'resumed':
      case 'stopped':
      case 'handler-run':
      case 'store-call':
      case 'stuck':
      case 'publish-failed':
      case 'store-down':
      case 'store-up':
      case 'invariant-broken':
      case 'source':
        return
    }
  }

  #ended(
    outcome: Extract<ObserverEvent, { type: 'delivery' }>['outcome'] | undefined,
    reason: string | undefined,
  ): void {
    if (outcome === 'duplicate') this.duplicates++
    else if (outcome === 'joined') this.joined++
    else if (outcome === 'parked') this.parked++
    else if (outcome === 'dead-lettered') {
      this.dead_lettered++
      if (reason === 'conflict') this.conflicts++
    }
  }
}

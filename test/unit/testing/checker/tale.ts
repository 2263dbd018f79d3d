import { type Anomaly, check, type End, type HistoryEvent, type Rules, type Verdict } from 'consume-once/testing'

type Told<F extends HistoryEvent['f'], Given extends PropertyKey = never> = Omit<
  Extract<HistoryEvent, { f: F }>,
  'at' | 'f' | Given
>
type Parts<F extends HistoryEvent['f'], Given extends PropertyKey = never> = Partial<Told<F, Given>>

/** Tells a history by hand, in its order: each event one millisecond after the one before, unless time passes. */
export class Tale {
  readonly events: HistoryEvent[] = []
  #at = 0
  #calls = 0

  passes(ms: number): this {
    this.#at += ms
    return this
  }

  /** A producer sends the message of an ID to a place, and is told that it is there. */
  sends(place: string, subject: string | undefined, parts: Parts<'send', 'place' | 'subject'> = {}): this {
    return this.tell({ proc: 'producer', f: 'send', type: 'ok', place, subject, print: 'p', ...parts })
  }

  delivers(place: string, via: string = 'e1'): this {
    return this.tell({ proc: 'A', f: 'deliver', place, via })
  }

  claims(token: string, subject: string, parts: Parts<'claim'> = {}): this {
    const granted = { type: 'ok', print: 'p', verdict: 'claimed', fence: 1, attempt: 1, until: this.#at + 100 } as const
    return this.tell({ proc: token[0] ?? '', f: 'claim', token, subject, ...granted, ...parts })
  }

  renews(token: string, subject: string, until: number = this.#at + 100): this {
    return this.tell({ proc: token[0] ?? '', f: 'renew', type: 'ok', subject, token, until })
  }

  starts(token: string, subject: string, parts: Parts<'hstart'> = {}): this {
    return this.tell({ proc: token[0] ?? '', f: 'hstart', subject, token, ...parts })
  }

  effects(token: string, subject: string, parts: Parts<'effect'> = {}): this {
    return this.tell({ proc: token[0] ?? '', f: 'effect', kind: 'accepted', subject, token, ...parts })
  }

  ends(token: string, subject: string, how: 'ok' | 'failed' | 'unknown' = 'ok'): this {
    return this.tell({ proc: token[0] ?? '', f: 'hend', subject, token, how })
  }

  marks(token: string, subject: string, parts: Parts<'mark'> = {}): this {
    return this.tell({ proc: token[0] ?? '', f: 'mark', type: 'ok', subject, token, ...parts })
  }

  releases(token: string, subject: string, parts: Parts<'release'> = {}): this {
    const plain = { type: 'ok', refund: false, doubt: false } as const
    return this.tell({ proc: token[0] ?? '', f: 'release', subject, token, ...plain, ...parts })
  }

  setsAside(token: string, subject: string, parts: Parts<'set-aside'> = {}): this {
    const plain = { type: 'ok', as: 'given-up', reason: 'handler-failed' } as const
    return this.tell({ proc: token[0] ?? '', f: 'set-aside', subject, token, ...plain, ...parts })
  }

  decides(subject: string, decision: 'done' | 'rerun' | 'reopen' | 'forget'): this {
    return this.tell({ proc: 'person', f: 'decide', subject, decision })
  }

  deadLetters(place: string, parts: Parts<'copy'> = {}): this {
    const plain = { type: 'ok', to: 'dead-letter', parked: false, reason: 'handler-failed' } as const
    return this.tell({ proc: 'A', f: 'copy', place, ...plain, ...parts })
  }

  retriesLater(place: string, parts: Parts<'copy'> = {}): this {
    return this.deadLetters(place, { to: 'retry', reason: 'failed', ...parts })
  }

  acks(place: string, via: string = 'c1', deliveredVia: string = via): this {
    return this.tell({ proc: 'broker', f: 'ack', place, via, deliveredVia })
  }

  commits(partition: string, next: number, via: string = 'e1', assignedVia: string = via): this {
    return this.tell({ proc: 'broker', f: 'commit', partition, next, via, assignedVia })
  }

  tells(what: string, subject: string | undefined, parts: Parts<'tell'> = {}): this {
    return this.tell({ proc: 'A', f: 'tell', what, subject, ...parts })
  }

  calls(proc: string, withinMs: number): this {
    this.#calls++
    return this.tell({ proc, f: 'call', type: 'invoke', call: 'mark', number: this.#calls, withinMs })
  }

  /** The last call that was made. */
  answers(proc: string, type: 'ok' | 'fail' = 'ok'): this {
    return this.tell({ proc, f: 'call', type, call: 'mark', number: this.#calls })
  }

  crashes(proc: string): this {
    return this.tell({ proc, f: 'crash' })
  }

  pauses(proc: string, forMs?: number): this {
    return this.tell({ proc, f: 'pause', ...(forMs === undefined ? {} : { forMs }) })
  }

  heals(): this {
    return this.tell({ proc: 'world', f: 'heal' })
  }

  /** One record, or all. */
  loses(subject?: string): this {
    return this.tell({ proc: 'store', f: 'store-loss', ...(subject === undefined ? {} : { subject }) })
  }

  samples(proc: string, parts: Parts<'sample'>): this {
    return this.tell({ proc, f: 'sample', ...parts })
  }

  /** A whole life without trouble, of a message that was sent: delivered, claimed, one effect, marked. */
  handles(place: string, subject: string, token: string): this {
    return this.delivers(place)
      .claims(token, subject)
      .starts(token, subject)
      .effects(token, subject)
      .ends(token, subject)
      .marks(token, subject)
  }

  judged({ end = {}, ...rules }: Partial<Rules> & { readonly end?: EndTold } = {}): Verdict {
    const { records = {}, ...left } = end
    return check(
      {
        events: this.events,
        end: { isDrained: true, unsettled: [], at: this.#at, ...left, records: new Map(Object.entries(records)) },
      },
      { promised: 'lease, rerun', hadFaults: false, maxAttempts: 3, mostDeliveries: 10, ...rules },
    )
  }

  /** The anomalies by name, admitted or not. */
  shows(told?: Parameters<Tale['judged']>[0]): Anomaly[] {
    return [...this.judged(told).anomalies.keys()]
  }

  private tell(event: Untimed): this {
    this.events.push({ at: this.#at++, ...event })
    return this
  }
}

type Untimed = HistoryEvent extends infer Event ? (Event extends HistoryEvent ? Omit<Event, 'at'> : never) : never

type EndTold = Partial<Omit<End, 'records'>> & {
  readonly records?: Record<string, End['records'] extends ReadonlyMap<string, infer State> ? State : never>
}

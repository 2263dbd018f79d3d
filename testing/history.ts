/**
 * What happened, as JSON lines: judged by `check()`, written by the simulator and by runs on real servers. What a server did is told by
 * the server (or by what it holds), never by a worker; times are true ones, of one clock that no fault moves.
 */
export interface History {
  readonly events: readonly HistoryEvent[]
  /** What the servers hold when nothing moves any more. */
  readonly end: End
}

/** A message on the broker: `topic/partition@offset` of a log, `queue#number` of a queue, which counts what was published to it. */
export type Place = string

/** What must share a record and nothing else: scope and ID, as one text. */
export type Subject = string

export type HistoryEvent = {
  /** True time in milliseconds, from any zero. Events are in its order. */
  readonly at: number
  /** The process that it is about; the producer, the broker or a person have names too. */
  readonly proc: string
} & Happening

export type Happening =
  | Sent
  | Delivered
  | Claimed
  | Renewed
  | Marked
  | Released
  | SetAside
  | Decided
  | HandlerStarted
  | Effect
  | HandlerEnded
  | Copied
  | Settled
  | Told
  | Called
  | Fault
  | Sampled

/** The events of one kind. */
export type EventOf<F extends HistoryEvent['f']> = Extract<HistoryEvent, { readonly f: F }>

export type FaultEvent = EventOf<Fault['f']>

/** A producer, or a copy to a retry place: the broker has it, or may have (`info`). */
interface Sent {
  readonly f: 'send'
  readonly type: 'ok' | 'info'
  readonly place: Place
  /** `undefined`: it has no usable ID. */
  readonly subject: Subject | undefined
  /** Of the payload, its fingerprint: the same ID with another one is another message. */
  readonly print: string
  /** Messages of one lane take effect in its order. `undefined`: none. */
  readonly lane?: string | undefined
  /** A retry copy: of what lay there. */
  readonly copyOf?: Place
}

interface Delivered {
  readonly f: 'deliver'
  readonly place: Place
  /** Assignment epoch or channel generation that brings it. */
  readonly via: string
}

/** The store granted a claim, or answered with another verdict. `invoke`: a worker asked; whether it arrived is not known by that. */
interface Claimed {
  readonly f: 'claim'
  readonly type: 'invoke' | 'ok'
  readonly subject: Subject
  readonly print?: string
  readonly token: string
  readonly verdict?:
    | 'claimed'
    | 'taken-over'
    | 'busy'
    | 'in-doubt'
    | 'done'
    | 'conflict'
    | 'given-up'
    | 'parked'
    | 'unreadable'
    | 'other'
  /** Of what was granted. */
  readonly fence?: number
  readonly attempt?: number
  /** Until when it holds without renewal, in true time. `undefined`: until its transaction ends. */
  readonly until?: number | undefined
  /** True time at which the store forgets it, if it is not marked before. */
  readonly keepUntil?: number | undefined
}

interface Renewed {
  readonly f: 'renew'
  readonly type: 'invoke' | 'ok'
  readonly subject: Subject
  readonly token: string
  readonly until?: number | undefined
}

/** `ok`: the store wrote it. `fail`: the worker was told that it is not written and never will be. */
interface Marked {
  readonly f: 'mark'
  readonly type: 'invoke' | 'ok' | 'fail'
  readonly subject: Subject
  readonly token: string
  /** Without an effect, and rightly: a remembered failure, or what a policy skips. */
  readonly without?: 'failure' | 'skipped'
  /** True time until which it is kept; later redeliveries may run again. `undefined`: for ever. */
  readonly until?: number | undefined
}

/** `ok`: the store wrote it. What it refused is no event, here as for every other command. */
interface Released {
  readonly f: 'release'
  readonly type: 'invoke' | 'ok'
  readonly subject: Subject
  readonly token: string
  readonly refund: boolean
  readonly doubt: boolean
  /** True time before which nobody may be granted it. `undefined`: at once, or not known. */
  readonly notBefore?: number | undefined
}

interface SetAside {
  readonly f: 'set-aside'
  readonly type: 'invoke' | 'ok'
  readonly subject: Subject
  readonly token: string
  /** As it was written. */
  readonly as: 'given-up' | 'parked'
  readonly reason: string
  /** True time until which it is kept. `undefined`: for ever. */
  readonly until?: number | undefined
}

/** A person decided of a record. */
interface Decided {
  readonly f: 'decide'
  readonly subject: Subject
  readonly decision: 'done' | 'rerun' | 'reopen' | 'forget'
  /** Of `done`: true time until which it is kept. `undefined`: for ever. */
  readonly until?: number | undefined
}

interface HandlerStarted {
  readonly f: 'hstart'
  readonly subject: Subject
  readonly print?: string
  readonly token: string
}

/**
 * `tx`: committed with the mark. `attempt`: a call that left the process. `accepted`: the provider did it, which it does once for
 * a key if it knows keys.
 */
interface Effect {
  readonly f: 'effect'
  readonly kind: 'tx' | 'attempt' | 'accepted'
  readonly subject: Subject
  readonly print?: string
  readonly token: string
}

/** `unknown`: its effect may have happened. `failed`: it says that none did. A handler without an end died, or still runs. */
interface HandlerEnded {
  readonly f: 'hend'
  readonly subject: Subject
  readonly token: string
  readonly how: 'ok' | 'failed' | 'unknown'
}

/** A copy that replaces the message at `place`: `ok` when the broker has it for good. */
interface Copied {
  readonly f: 'copy'
  readonly type: 'ok' | 'info'
  readonly place: Place
  readonly to: 'dead-letter' | 'retry'
  readonly parked: boolean
  readonly reason: string
}

/** The broker accepted an ack of one message, or a commit, which covers all below. */
type Settled =
  | {
      readonly f: 'ack'
      /** The message that the broker has removed by it. */
      readonly place: Place
      /** The channel it came through, and the one it had been delivered by last. */
      readonly via: string
      readonly deliveredVia: string
    }
  | {
      readonly f: 'commit'
      /** `topic/partition` */
      readonly partition: string
      /** All offsets below are settled. */
      readonly next: number
      /** The epoch that committed, and the one that had the partition then. */
      readonly via: string
      readonly assignedVia: string
    }

/** What a consumer says of a delivery, or reports. */
interface Told {
  readonly f: 'tell'
  /** An outcome, `in-doubt`, `beyond-retention`, `stuck`, ... */
  readonly what: string
  readonly subject: Subject | undefined
  readonly print?: string
  readonly place?: Place
}

/** A call that must end within its time: `stop()`, a store's method, a publish. */
interface Called {
  readonly f: 'call'
  readonly type: 'invoke' | 'ok' | 'fail'
  readonly call: string
  /** Tells two calls of one process apart. */
  readonly number: number
  readonly withinMs?: number
}

interface Fault {
  readonly f:
    | 'crash'
    | 'pause'
    | 'clock-jump'
    | 'rebalance'
    | 'channel-closed'
    | 'store-loss'
    | 'store-down'
    | 'broker-down'
    | 'heal'
  /** `store-loss`: whose record is gone; all, if none is named. */
  readonly subject?: Subject
  /** `pause`: how long. `undefined`: until the next `heal`. */
  readonly forMs?: number
  readonly detail?: string
}

interface Sampled {
  readonly f: 'sample'
  readonly heapMb?: number
  readonly records?: number
  readonly openTransactions?: number
}

/** What is left after heal and drain. */
export interface End {
  /** All was settled before the deadline of the drain. */
  readonly isDrained: boolean
  /** Confirmed, and neither acked nor below a committed offset. */
  readonly unsettled: readonly Place[]
  /** Records by subject; what is not here is absent. */
  readonly records: ReadonlyMap<Subject, 'processing' | 'released' | 'done' | 'given-up' | 'parked'>
  /** True time at which the records were read. */
  readonly at: number
}

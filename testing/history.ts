/**
 * The events of a run, as JSON lines. `check()` judges them; the simulator and runs on real servers write them. Actions
 * of a server are reported by the server (or derived from its data), never by a worker. Times are true times of one
 * clock that no fault changes.
 */
export interface History {
  readonly events: readonly HistoryEvent[]
  /** The final state of the servers. */
  readonly end: End
}

/**
 * A message on the broker: `topic/partition@offset` in a log, `queue#number` in a queue, which counts its publishes.
 */
export type Place = string

/** Identifies a record: scope and ID as one text. */
export type Subject = string

export type HistoryEvent = {
  /** True time in milliseconds, from any zero. Events are in this order. */
  readonly at: number
  /** The process of the event. The producer, the broker and a person have names too. */
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

/** Sent by a producer, or as a copy to a retry place. `info`: the broker may have it. */
interface Sent {
  readonly f: 'send'
  readonly type: 'ok' | 'info'
  readonly place: Place
  /** `undefined`: it has no usable ID. */
  readonly subject: Subject | undefined
  /** Fingerprint of the payload: the same ID with another fingerprint is another message. */
  readonly print: string
  /** Messages of one lane take effect in its order. `undefined`: no order. */
  readonly lane?: string | undefined
  /** For a retry copy: the place of its original. */
  readonly copyOf?: Place
}

interface Delivered {
  readonly f: 'deliver'
  readonly place: Place
  /** Assignment epoch or channel generation that delivers it. */
  readonly via: string
}

/**
 * The store granted a claim, or answered with another verdict. `invoke`: a worker asked; the request may not have
 * arrived.
 */
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
  /** For a granted claim. */
  readonly fence?: number
  readonly attempt?: number
  /** Until when it holds without renewal, in true time. `undefined`: until its transaction ends. */
  readonly until?: number | undefined
  /** True time at which the record expires if it is not marked before. */
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
  /** Rightly without an effect: a remembered failure, or a message that a policy skips. */
  readonly without?: 'failure' | 'skipped'
  /** True time until which it is kept; later redeliveries may run again. `undefined`: for ever. */
  readonly until?: number | undefined
}

/** `ok`: the store wrote it. A refusal is not an event, for this and every other command. */
interface Released {
  readonly f: 'release'
  readonly type: 'invoke' | 'ok'
  readonly subject: Subject
  readonly token: string
  readonly refund: boolean
  readonly doubt: boolean
  /** True time before which nobody may be granted it. `undefined`: no backoff, or unknown. */
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

/** A person decided about a record. */
interface Decided {
  readonly f: 'decide'
  readonly subject: Subject
  readonly decision: 'done' | 'rerun' | 'reopen' | 'forget' | 'import'
  /** For `done` and `import`: true time until which it is kept. `undefined`: for ever. */
  readonly until?: number | undefined
}

interface HandlerStarted {
  readonly f: 'hstart'
  readonly subject: Subject
  readonly print?: string
  readonly token: string
}

/**
 * `tx`: committed with the mark. `attempt`: a call that left the process. `accepted`: the provider carried it out; a
 * provider that knows idempotency keys does so once for each key.
 */
interface Effect {
  readonly f: 'effect'
  readonly kind: 'tx' | 'attempt' | 'accepted'
  readonly subject: Subject
  readonly print?: string
  readonly token: string
}

/**
 * `unknown`: its effect may have happened. `failed`: it says that no effect happened. A handler without an end died, or
 * still runs.
 */
interface HandlerEnded {
  readonly f: 'hend'
  readonly subject: Subject
  readonly token: string
  readonly how: 'ok' | 'failed' | 'unknown'
}

/** A copy that replaces the message at `place`. `ok`: the broker has it durably. */
interface Copied {
  readonly f: 'copy'
  readonly type: 'ok' | 'info'
  readonly place: Place
  readonly to: 'dead-letter' | 'retry'
  readonly parked: boolean
  readonly reason: string
}

/** The broker accepted an ack of one message, or a commit, which covers everything below. */
type Settled =
  | {
      readonly f: 'ack'
      /** The message that the broker has removed because of it. */
      readonly place: Place
      /** The channel of the ack, and the channel that delivered the message last. */
      readonly via: string
      readonly deliveredVia: string
    }
  | {
      readonly f: 'commit'
      /** `topic/partition` */
      readonly partition: string
      /** All offsets below are settled. */
      readonly next: number
      /** The epoch that committed, and the one that had the partition at that time. */
      readonly via: string
      readonly assignedVia: string
    }

/** An outcome or event that a consumer reports. */
interface Told {
  readonly f: 'tell'
  /** An outcome, `in-doubt`, `beyond-retention`, `stuck`, ... */
  readonly what: string
  readonly subject: Subject | undefined
  readonly print?: string
  readonly place?: Place
}

/** A call that must end in time: `stop()`, a method of the store, a publish. */
interface Called {
  readonly f: 'call'
  readonly type: 'invoke' | 'ok' | 'fail'
  readonly call: string
  /** Distinguishes the calls of one process. */
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
  /** For `store-loss`: the subject whose record is gone; all if it is missing. */
  readonly subject?: Subject
  /** For `pause`: its duration. `undefined`: until the next `heal`. */
  readonly forMs?: number
  readonly detail?: string
}

interface Sampled {
  readonly f: 'sample'
  readonly heapMb?: number
  readonly records?: number
  readonly openTransactions?: number
}

/** The final state after heal and drain. */
export interface End {
  /** Everything was settled before the deadline of the drain. */
  readonly isDrained: boolean
  /** Messages that are confirmed, and neither acked nor below a committed offset. */
  readonly unsettled: readonly Place[]
  /** Records by subject; a missing one is absent. */
  readonly records: ReadonlyMap<Subject, 'processing' | 'released' | 'done' | 'given-up' | 'parked'>
  /** True time at which the records were read. */
  readonly at: number
}

import { stepFor, type ReplayStep } from '../core/replay.ts'
import type { EpochMs } from '../core/units.ts'
import { redefined } from '../consumer/define-consumer.ts'
import { runInline, type InlineRunning, type Settlement } from '../run/inline.ts'
import type { ReplayReader } from '../ports/replay.ts'
import { afterForgetting, decideFor } from './decide.ts'
import type { HandlingParts, Todo } from './handling-parts.ts'
import type { ReplayOutcome } from './journal.ts'
import { Lookup, type Looked } from './look.ts'
import { isDeadLetterPlace, refused } from './place.ts'
import type { Horizon } from './plan.ts'
import { Proof } from './proven.ts'
import type { Ticket } from './recorder.ts'
import type { RunProgress } from './run-options.ts'
import { accounted } from './run-state.ts'
import { withReplayHeaders } from './replayed-message.ts'

/** Messages that are looked up in one call of the store. */
const MOST_LOOKED_AT_ONCE = 250
/** Messages that somebody else is handling, and that are looked at again at the end. Beyond it they are left at once. */
const MOST_WAITING = 10_000
const HORIZON_FOR_MS = 60_000
const HELD_AGAIN_MS = 500
const RUNS: ReadonlySet<ReplayStep> = new Set(['handle', 'forget', 'reopen', 'rerun'])

/** Reads the range, and handles what the plan allows. */
export class Handling {
  readonly #with: HandlingParts
  readonly #inline: InlineRunning
  readonly #lookup: Lookup
  readonly #proof: Proof
  readonly #concurrency: number
  readonly #waiting: Todo[] = []
  readonly #running = new Set<Promise<void>>()
  readonly #startedAt: number
  readonly #accountedBefore: number
  #horizon: (Horizon & { readonly askedAt: EpochMs }) | undefined
  /** Queues: messages of the plan that have no entry yet. What came after them is not meant. */
  #left = Number.POSITIVE_INFINITY
  /** Somebody waits for the end of a message, or for the stop. */
  #wake: () => void = () => {}
  #begun = 0
  #failures = 0
  /** Since the last message that was handled. */
  #failuresInARow = 0

  constructor(parts: HandlingParts) {
    const { of, plan, options, clock, recorder, limit } = parts
    this.#with = parts
    // Whether absence proves anything is decided here, from the arrivals in the plan.
    // A failed message waits in its place, so the run pauses where a live consumer would hold.
    const consumer = redefined(of.consumer, { onBeyondRetention: 'run', holdAfter: Number.POSITIVE_INFINITY, limit })
    this.#inline = runInline(consumer, { group: of.subscription.group, clock })
    this.#lookup = new Lookup(of, plan.selection)
    this.#proof = new Proof(plan)
    this.#concurrency = options.concurrency ?? this.#inline.capacity.claims
    this.#startedAt = clock.monotonic()
    this.#accountedBefore = accounted(recorder.totals)
    parts.stop.addEventListener('abort', () => this.#wake())
  }

  /** Resolves when every message of the range is accounted for, or nothing more begins. */
  async go(reader: ReplayReader): Promise<void> {
    const { plan, recorder, stop } = this.#with
    await this.#inline.open()
    const range = { parts: plan.parts, warnings: [] }
    if (reader.takes) this.#left = plan.total - this.#accountedBefore
    if (!reader.takes && isDeadLetterPlace(this.#with.of.subscription.replay, plan.from)) {
      for await (const batch of reader.read(range, { signal: stop })) await this.#lookup.note(batch)
    }
    const atOnce = Math.min(MOST_LOOKED_AT_ONCE, Math.max(this.#concurrency, 1))
    for await (const batch of reader.read(range, { from: recorder.state.checkpoint, signal: stop })) {
      for (let at = 0; at < batch.length && !stop.aborted; at += atOnce) {
        const some = batch.slice(at, at + atOnce)
        await this.#take(
          some.map((item) => ({ item, ticket: recorder.received(item) })),
          (bucket) => stepFor(bucket, this.#with.rules),
        )
      }
      if (stop.aborted) break
    }
    await this.#idle()
    await this.#lookAgain()
    await recorder.flush()
  }

  /** Ends running handlers within the deadline. */
  async stop(deadlineMs: number): Promise<void> {
    await this.#inline.stop({ deadlineMs })
    await Promise.all(this.#running)
  }

  async #take(
    received: readonly { readonly item: Looked['item']; readonly ticket: Ticket }[],
    stepOf: (bucket: Todo['in']) => ReplayStep,
  ): Promise<void> {
    const { stop, recorder, resumed } = this.#with
    const looked = await this.#lookup.look(
      received.map(({ item }) => item),
      this.#with.clock.now(),
    )
    const horizon = await this.#horizonNow()
    const found: Todo[] = []
    for (const [index, one] of looked.entries()) {
      const ticket = received[index]?.ticket
      if (ticket === undefined) throw new TypeError('a message without a ticket (handling.take)')
      const isProven = this.#proof.isProven(one.item, horizon.at, this.#with.clock.now())
      const entry = resumed.entryOf(one.item, one.key)
      if (entry !== undefined) {
        recorder.accountedBefore(ticket)
        // Another message of this key may have another payload.
        const isSame = entry.outcome === 'handled' && one.bucket(isProven, this.#with.rules) === 'done'
        await one.item.settle?.(isSame ? 'done' : 'return')
        continue
      }
      if (this.#left === 0) {
        recorder.accountedBefore(ticket)
        await one.item.settle?.('return')
        continue
      }
      this.#left--
      this.#checkKey(one)
      const bucket = one.bucket(isProven, this.#with.rules)
      found.push({ ...one, ticket, in: bucket, step: stepOf(bucket) })
    }
    const todo = await afterForgetting(found, this.#with)
    const refusal = todo.find(({ step }) => step === 'refuse')
    if (refusal !== undefined) {
      const { part, position } = refusal.item
      throw refused(
        `replay ${this.#with.plan.id}: the message at ${part} ${position} has no record any more, and nothing proves that it was not handled (${horizon.because}): make a new plan`,
      )
    }
    if (stop.aborted) return
    for (const one of todo) if (!runs(one)) this.#passOver(one)
    await this.#begin(todo.filter(runs))
    this.tell()
  }

  /** Changes records only of messages that begin at once: whatever stops it later, no record waits for its message. */
  async #begin(todo: readonly Todo[]): Promise<void> {
    for (let at = 0; at < todo.length;) {
      const some = todo.slice(at, at + (await this.#room()))
      if (some.length === 0) return
      at += some.length
      for (const one of await decideFor(some, this.#with)) {
        if (one.step === 'handle') this.#handle(one)
        else this.#passOver(one)
      }
      this.tell()
    }
  }

  /** How many may begin now; 0 if it stops. */
  async #room(): Promise<number> {
    const { stop, pace, options } = this.#with
    while (this.#running.size >= this.#concurrency && !stop.aborted) await this.#nextEnd()
    await pace.turn(stop)
    await this.#heldAgain()
    if (stop.aborted || this.#isCanaryOver()) return 0
    const { canary = Number.POSITIVE_INFINITY } = options
    return pace.isLimited ? 1 : Math.min(this.#concurrency - this.#running.size, canary - this.#begun)
  }

  #passOver(one: Todo): void {
    if (one.step === 'wait') this.#wait(one)
    else this.#record(one, one.step === 'leave' ? 'left' : one.in === 'done' ? 'done-before' : 'skipped')
  }

  #handle(one: Todo): void {
    this.#begun++
    const { item, replays } = one
    const { message } = item
    const lane = message.key === null ? undefined : `${item.part} ${Buffer.from(message.key).toString('base64')}`
    const copy = withReplayHeaders(message, this.#with.plan.id, replays)
    const running = this.#inline.handle(copy, { lane }).then(
      (settlement) => this.#ended(one, settlement),
      (error: unknown) => this.#with.refuse(error as Error),
    )
    this.#running.add(running)
    void running.finally(() => {
      this.#running.delete(running)
      this.#wake()
    })
  }

  #ended(one: Todo, { outcome, settle, deadLetter, reason }: Settlement): void {
    if (settle === 'retry') {
      // It was stopped, or somebody else took it over.
      if (!this.#with.stop.aborted) this.#wait(one)
      return
    }
    if (outcome === 'handled' || outcome === 'skipped') this.#failuresInARow = 0
    if (settle === 'ack')
      return this.#record(
        one,
        outcome === 'handled' || outcome === 'skipped' ? 'handled' : 'done-before',
        undefined,
        'done',
      )
    this.#record(one, deadLetter?.parked === true ? 'parked' : 'failed', deadLetter?.detail ?? reason)
    this.#failures++
    const { stopOnFailures } = this.#with.options
    if (stopOnFailures !== undefined && this.#failures >= stopOnFailures) {
      this.#with.pause(`${this.#failures} failures`)
    }
    if (++this.#failuresInARow >= this.#with.of.definition.holdAfter) {
      this.#with.pause(`${this.#failuresInARow} failures in a row, and none was handled`)
    }
  }

  #isCanaryOver(): boolean {
    const { canary } = this.#with.options
    if (canary === undefined || this.#begun < canary) return false
    this.#with.pause(`canary: ${this.#begun} handled`)
    return true
  }

  #wait(one: Todo): void {
    if (this.#waiting.length < MOST_WAITING) {
      this.#waiting.push(one)
      this.#left++
    } else this.#record(one, 'left', 'somebody else handles it')
  }

  /** Those that somebody else was handling. */
  async #lookAgain(): Promise<void> {
    const waiting = this.#waiting.splice(0)
    const { stop, rules } = this.#with
    for (let at = 0; at < waiting.length && !stop.aborted; at += MOST_LOOKED_AT_ONCE) {
      await this.#take(waiting.slice(at, at + MOST_LOOKED_AT_ONCE), (bucket) => {
        const step = stepFor(bucket, rules)
        return step === 'wait' ? 'leave' : step
      })
    }
    await this.#idle()
    for (const one of this.#waiting.splice(0)) if (!stop.aborted) this.#record(one, 'left', 'somebody else handles it')
  }

  #record(
    one: Todo,
    outcome: ReplayOutcome,
    detail: string | undefined = detailOf(one, outcome),
    settle: 'done' | 'return' = 'return',
  ): void {
    const { part, position } = one.item
    const before = typeof one.view === 'object' ? one.view.state : one.view
    const at = this.#with.clock.now()
    const entry = {
      replay: this.#with.plan.id,
      part,
      position,
      key: one.key,
      bucket: one.in,
      before,
      outcome,
      detail,
      at,
    }
    this.#with.recorder.record(one.item, one.ticket, entry, settle)
  }

  /** A plan that was made with another ID source has other keys. */
  #checkKey({ item, key }: Looked): void {
    const { plan } = this.#with
    const first = Object.hasOwn(plan.first, item.part) ? plan.first[item.part] : undefined
    // Queues have no stable positions.
    if (item.settle !== undefined || first?.position !== item.position || first.key === key) return
    throw refused(
      `plan ${plan.id}: the message at ${item.part} ${item.position} has key ${String(key)}, in the plan ${String(first.key)}: the ID of the consumer changed, or the topic was created again: make a new plan`,
    )
  }

  async #horizonNow(): Promise<Horizon> {
    const now = this.#with.clock.now()
    if (this.#horizon === undefined || now - this.#horizon.askedAt >= HORIZON_FOR_MS) {
      this.#horizon = { ...(await this.#with.of.horizon(now)), askedAt: now }
    }
    return this.#horizon
  }

  /** While the ledger does not answer, another process may take the replay over. */
  async #heldAgain(): Promise<void> {
    const { recorder, stop, clock } = this.#with
    while (!recorder.isHeld && !stop.aborted) {
      this.tell('store')
      await new Promise<void>((resolve) => void clock.after(HELD_AGAIN_MS, resolve))
    }
  }

  /** Until nothing runs, or it stops. */
  async #idle(): Promise<void> {
    while (this.#running.size > 0 && !this.#with.stop.aborted) await this.#nextEnd()
  }

  #nextEnd(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  tell(waits?: RunProgress['waits']): void {
    const { plan, recorder, clock, tell, pace } = this.#with
    const totals = { ...recorder.totals }
    const seconds = Math.max(0.001, (clock.monotonic() - this.#startedAt) / 1_000)
    const rate = (accounted(totals) - this.#accountedBefore) / seconds
    const left = Math.max(0, plan.total - accounted(totals))
    tell({
      id: plan.id,
      of: plan.total,
      totals,
      rate,
      leftSeconds: rate > 0 ? left / rate : undefined,
      waits: waits ?? (pace.isQuiet ? 'quiet hours' : this.#inline.limited > 0 ? 'limit' : undefined),
    })
  }
}

function runs({ step }: Todo): boolean {
  return RUNS.has(step)
}

function detailOf({ in: bucket, detail }: Todo, outcome: ReplayOutcome): string | undefined {
  return bucket === 'done' && outcome === 'handled' ? 'again, on purpose' : detail
}

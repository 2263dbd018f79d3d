import { defineConsumer } from '../../src/define-consumer.ts'
import { NoEffectError, OutcomeUnknownError, StoreError } from '../../src/errors.ts'
import type { Running } from '../../src/lifecycle.ts'
import { MemoryBroker } from '../../src/memory/broker.ts'
import { messageId } from '../../src/message-id.ts'
import type { ConsumerOptions, HandlerContext } from '../../src/options.ts'
import type { ObserverEvent } from '../../src/ports/observer.ts'
import type { Delivery, Intake, Publisher, Source } from '../../src/ports/source.ts'
import type { Store } from '../../src/ports/store.ts'
import { runConsumer } from '../../src/run.ts'
import { InboxDatabase, MemoryInbox, type InboxTx } from './memory-inbox.ts'
import { ManualClock, turns } from './manual-clock.ts'
import { memoryStore } from '../../src/memory/store.ts'
import type { Style } from './rig.ts'

const TOPIC = 'topic'
const GROUP = 'group'
const MAX_ATTEMPTS = 4

/** One short life of a broker, a store and processes that come and go; all chance comes from the seed. */
export class Chaos {
  readonly clock: ManualClock = new ManualClock()
  readonly broker: MemoryBroker
  readonly random: () => number
  readonly style: Style
  readonly database: InboxDatabase = new InboxDatabase()
  readonly lease: Store = memoryStore({ clock: this.clock })
  /** IDs in the order their effects happened. */
  readonly effects: string[] = this.database.effects
  readonly starts: Map<string, number> = new Map()
  readonly inDoubt: Set<string> = new Set()
  readonly published: { readonly id: string; readonly key: string | null }[] = []
  readonly violations: string[] = []
  readonly processes: Process[] = []
  readonly faultRate: number
  deaths = 0
  isHealed = false
  #tokens = 0

  constructor(seed: number, style: Style) {
    this.random = seeded(seed)
    this.style = style
    this.broker = new MemoryBroker({ partitions: 1 + this.below(3) })
    this.faultRate = this.random() * 0.3
  }

  below(most: number): number {
    return Math.floor(this.random() * most)
  }

  happens(rate: number): boolean {
    return !this.isHealed && this.random() < rate
  }

  token(): string {
    return `token-${++this.#tokens}`
  }

  effectsOf(id: string): number {
    return this.effects.filter((one) => one === id).length
  }

  /** The one that has the partitions. Earlier ones may still run what they have begun. */
  get current(): Process | undefined {
    const last = this.processes.at(-1)
    return last?.isDead === true ? undefined : last
  }

  async start(): Promise<void> {
    const process = new Process(this)
    this.processes.push(process)
    await process.start()
  }

  publish(): void {
    const again = this.published[this.below(this.published.length * 3)]
    const fresh = { id: `m${this.published.length}`, key: this.random() < 0.7 ? `k${this.below(3)}` : null }
    const { id, key } = again ?? fresh
    this.published.push({ id, key })
    this.broker.publish(TOPIC, {
      key: key === null ? null : Buffer.from(key),
      value: Buffer.from('{}'),
      headers: { id },
    })
  }

  async step(): Promise<void> {
    const dice = this.random()
    if (dice < 0.25) this.publish()
    else if (dice < 0.35) this.broker.redeliver(TOPIC, GROUP, 1 + this.below(5))
    else if (dice < 0.42) this.broker.rebalance(TOPIC, GROUP)
    else if (dice < 0.47) this.current?.die()
    else if (dice < 0.5) await this.start()
    else await this.clock.advance(this.below(700))
    if (this.current === undefined) await this.start()
    await turns(this.below(4))
  }

  /** Faults end, and what is left must come to its end. Returns whether it did. */
  async heal(): Promise<boolean> {
    this.isHealed = true
    const end = { isDrained: false }
    const drained = async (): Promise<void> => {
      await this.broker.drained(TOPIC, GROUP)
      end.isDrained = true
    }
    void drained()
    for (let seconds = 0; seconds < 120 && !end.isDrained; seconds++) await this.clock.advance(1_000)
    return end.isDrained
  }

  check(): void {
    const letters = new Map(this.broker.deadLetters.map((letter) => [String(letter.message.headers['id']), letter]))
    for (const { id } of this.published) {
      const effects = this.effectsOf(id)
      const letter = letters.get(id)
      if (effects === 0 && letter === undefined) this.violations.push(`${id}: lost`)
      if (effects > 1 && (this.style.strategy === 'inbox' || !this.inDoubt.has(id))) {
        this.violations.push(`${id}: ${effects} effects, never in doubt`)
      }
      if (letter !== undefined && !letter.parked && effects > 0) this.violations.push(`${id}: given up, with an effect`)
      if (letter !== undefined && (this.starts.get(id) ?? 0) + this.deaths < MAX_ATTEMPTS) {
        this.violations.push(`${id}: ${letter.reason} after ${this.starts.get(id) ?? 0} starts`)
      }
    }
    this.#checkOrder()
    for (const process of this.processes) this.violations.push(...process.check())
  }

  #checkOrder(): void {
    for (const lane of new Set(this.published.map(({ key }) => key))) {
      if (lane === null) continue
      const ids = [...new Set(this.published.filter(({ key }) => key === lane).map(({ id }) => id))]
      // A stale holder may act late: that is what being in doubt means.
      if (this.style.strategy === 'lease' && ids.some((id) => this.inDoubt.has(id))) continue
      const wanted = ids.filter((id) => this.effects.includes(id))
      const got = [...new Set(this.effects.filter((id) => ids.includes(id)))]
      if (wanted.join() !== got.join()) this.violations.push(`${lane}: expected ${wanted.join()}, got ${got.join()}`)
    }
  }
}

/** A consumer with its own line to the store. When it dies, nothing of it goes on. */
class Process {
  isDead = false
  readonly #chaos: Chaos
  readonly #inbox: MemoryInbox
  readonly #runs = new Set<string>()
  readonly #outcomes = new Map<Delivery, number>()
  #delivered = 0
  #hasStuck = false
  #ended = 0
  #running: Running | undefined

  constructor(chaos: Chaos) {
    this.#chaos = chaos
    this.#inbox = new MemoryInbox(chaos.database)
  }

  async start(): Promise<void> {
    const { clock, random, broker, style } = this.#chaos
    const handlers: Pick<ConsumerOptions<unknown, unknown, InboxTx>, 'handle' | 'handleBatch'> = style.handler ===
    'handle'
      ? { handle: (context) => this.#handle(context, context.signal, context.tx) }
      : {
          handleBatch: async ({ messages, signal, tx }) => {
            for (const [index, { message }] of messages.entries()) {
              await this.#handle({ message }, signal, tx).catch((error: unknown) => {
                // On a lease nobody undoes what the batch has done by then.
                throw index > 0 && tx === undefined ? new OutcomeUnknownError('half done', { cause: error }) : error
              })
            }
          },
        }
    const options = {
      name: 'consumer',
      id: messageId.header('id'),
      store: this.#line(style.strategy === 'inbox' ? this.#inbox : this.#chaos.lease),
      concurrency: 1 + this.#chaos.below(6),
      transactions: 1 + this.#chaos.below(3),
      batchSize: 1 + this.#chaos.below(8),
      leaseMs: 1_000,
      handlerTimeoutMs: 5_000,
      graceMs: 500,
      maxAttempts: MAX_ATTEMPTS,
      retry: { initialMs: 20, maxMs: 200 },
      observe: (event: ObserverEvent) => this.#observe(event),
      ...handlers,
    } as ConsumerOptions<unknown, unknown, InboxTx>
    const source = this.#counting(broker.source(TOPIC, GROUP))
    const entropy = { fraction: random, ownerToken: () => this.#chaos.token() }
    this.#running = await runConsumer(defineConsumer(options), { source, publisher: source, clock, entropy })
  }

  die(): void {
    this.isDead = true
    this.#chaos.deaths++
    this.#inbox.die()
    this.#chaos.broker.kill(TOPIC, GROUP)
  }

  async stop(): Promise<void> {
    if (this.isDead) return
    const stopping = this.#running?.stop({ deadlineMs: 10_000 })
    await this.#chaos.clock.advance(11_000)
    await stopping
  }

  check(): string[] {
    if (this.isDead) return []
    const inFlight = this.#running?.health().checks['handlers']
    return [
      ...(this.#ended === this.#delivered ? [] : [`${this.#delivered} deliveries, ${this.#ended} outcomes`]),
      ...(inFlight === '0 in flight' ? [] : [`after a stop: ${String(inFlight)}`]),
      ...(this.#inbox.openTransactions === 0 ? [] : ['a transaction is open after a stop']),
    ]
  }

  async #handle(
    { message }: Pick<HandlerContext<unknown>, 'message'>,
    signal: AbortSignal,
    tx?: InboxTx,
  ): Promise<void> {
    const chaos = this.#chaos
    const id = String(message.headers['id'])
    chaos.starts.set(id, (chaos.starts.get(id) ?? 0) + 1)
    // A deaf handler may still run when its message runs again.
    if (this.#runs.has(id) && !this.#hasStuck) chaos.violations.push(`${id}: two handlers at once`)
    this.#runs.add(id)
    try {
      await this.#pause()
      if (chaos.happens(0.1)) throw new Error('broken')
      if (signal.aborted) throw chaos.random() < 0.5 ? new NoEffectError('stopped') : new Error('stopped')
      if (tx === undefined) chaos.effects.push(id)
      else await tx.insert(id)
      await this.#pause()
      if (chaos.happens(0.05)) throw new OutcomeUnknownError('no answer')
    } finally {
      this.#runs.delete(id)
    }
  }

  async #pause(): Promise<void> {
    const chaos = this.#chaos
    // Now and then past the lease, or past the time limit and its grace.
    const mostMs = chaos.happens(0.04) ? 7_000 : 300
    if (chaos.random() < 0.5) await new Promise<void>((resolve) => void chaos.clock.after(chaos.below(mostMs), resolve))
    if (this.isDead) await new Promise(() => {})
  }

  #observe(event: ObserverEvent): void {
    if (this.isDead) return
    if (event.type === 'stuck') this.#hasStuck = true
    if (event.type === 'in-doubt') this.#chaos.inDoubt.add(String(event.message.headers['id']))
    if (event.type !== 'delivery') return
    this.#ended++
    const id = String(event.message.headers['id'])
    const said = event.outcome === 'settle-refused' ? event.refused : event.outcome
    if ((said === 'handled' || said === 'duplicate') && this.#chaos.effectsOf(id) === 0) {
      this.#chaos.violations.push(`${id}: ${said} without an effect`)
    }
  }

  #counting(source: Source & Publisher): Source & Publisher {
    const open = (intake: Intake): Promise<void> =>
      source.open({
        capacity: intake.capacity,
        deliver: (deliveries) => {
          if (this.isDead) return
          this.#delivered += deliveries.length
          intake.deliver(deliveries.map((delivery) => this.#settledOnce(delivery)))
        },
        standingChanged: () => intake.standingChanged(),
        report: (event) => intake.report(event),
      })
    return {
      system: source.system,
      group: source.group,
      open,
      pause: () => source.pause(),
      resume: () => source.resume(),
      stopIntake: () => source.stopIntake(),
      close: () => source.close(),
      health: () => source.health(),
      deadLetter: async (letter) => {
        if (this.isDead) return new Promise(() => {})
        if (this.#chaos.happens(this.#chaos.faultRate)) throw new Error('not confirmed')
        return source.deadLetter(letter)
      },
    }
  }

  #settledOnce(delivery: Delivery): Delivery {
    const { message, lane } = delivery
    const standing = (): ReturnType<Delivery['standing']> => delivery.standing()
    const settle = (): boolean => {
      const before = this.#outcomes.get(delivery) ?? 0
      if (before > 0) this.#chaos.violations.push(`${message.position}: settled twice`)
      this.#outcomes.set(delivery, before + 1)
      return !this.isDead && delivery.settle()
    }
    return { message, lane, standing, settle }
  }

  /** Loses requests and replies; of a dead process, all of them. */
  #line(store: Store<InboxTx>): Store<InboxTx> {
    const chaos = this.#chaos
    const call = async <T>(work: () => Promise<T>): Promise<T> => {
      if (this.isDead) await new Promise(() => {})
      if (chaos.happens(chaos.faultRate)) throw new StoreError('STORE_UNREACHABLE', 'request lost')
      await turns(chaos.below(3))
      if (this.isDead) await new Promise(() => {})
      const answer = await work()
      if (this.isDead) await new Promise(() => {})
      if (chaos.happens(chaos.faultRate)) throw new StoreError('STORE_AMBIGUOUS', 'reply lost')
      return answer
    }
    return {
      strategy: store.strategy,
      open: () => store.open(),
      claim: (request) => call(() => store.claim(request)),
      renew: (claims, leaseMs) => call(() => store.renew(claims, leaseMs)),
      mark: (claims) => call(() => store.mark(claims)),
      release: (claims, how) => call(() => store.release(claims, how)),
      setAside: (claims, as, reason) => call(() => store.setAside(claims, as, reason)),
    }
  }
}

/** Mulberry32: small, seeded, good enough to play dice. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

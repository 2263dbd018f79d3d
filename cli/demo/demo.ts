import { closeSync, openSync, writeFileSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import {
  defineConsumer,
  messageId,
  type Consumer,
  type HandlerContext,
  type Message,
  type Running,
  type Store,
} from '../../src/index.ts'
import { describeError } from '../../src/spi.ts'
import { CommandError, EXIT } from '../exit.ts'
import type { DemoRequest } from './request.ts'
import { ID_HEADER, readInput, type Input, type InputMessage } from './envelope.ts'
import { IncarnationStore } from './incarnation.ts'
import { KillSwitch } from './kill-switch.ts'
import { MemoryFaults } from './memory-faults.ts'
import { Progress } from './progress.ts'
import { tell, type Report } from './report.ts'
import type { DemoSource, Outgoing } from './sources/demo-source.ts'
import { kafkaDemoSource } from './sources/kafka.ts'
import { MemoryDemoSource } from './sources/memory.ts'
import { rabbitDemoSource } from './sources/rabbitmq.ts'
import { DemoState } from './state.ts'
import type { DemoStore } from './stores/demo-store.ts'
import { pgliteDemoStore, postgresDemoStore } from './stores/inbox.ts'
import { memoryDemoStore, redisDemoStore } from './stores/lease.ts'
import { Tally } from './tally.ts'
import { verify } from './verify.ts'
import { Watchdog } from './watchdog.ts'

/** The lease of the demo. It is short, so that a run after a kill need not wait long. */
const LEASE_MS = 2_000

/** Runs the demo on real input, and reports whether every message had its effect once. Returns the exit code. */
export async function runDemo(request: DemoRequest): Promise<number> {
  const input = await readInput(request.input)
  if (request.effects !== undefined) checkWritable(request.effects)
  const state = DemoState.open(request)
  try {
    return await new Demo(request, input, state).run()
  } finally {
    state.close()
  }
}

/** Check it before anything happens: an error at the end would hide the result of the run. */
function checkWritable(path: string): void {
  try {
    closeSync(openSync(path, 'a'))
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new CommandError(EXIT.usage, `--effects ${path} cannot be written: ${why}. Nothing was produced.`, { cause })
  }
}

class Demo {
  readonly #request: DemoRequest
  readonly #input: Input
  readonly #state: DemoState
  readonly #tally = new Tally()
  readonly #killSwitch: KillSwitch
  readonly #talk: (text: string) => void
  #running: Running | undefined
  #faults: MemoryFaults | undefined

  constructor(request: DemoRequest, input: Input, state: DemoState) {
    this.#request = request
    this.#input = input
    this.#state = state
    this.#killSwitch = new KillSwitch(request.killAt)
    this.#talk = (text) => void process.stderr.write(`${text}\n`)
  }

  async run(): Promise<number> {
    const { source: sourceName, store: storeName } = this.#request
    this.#talk(
      `consume-once demo: ${sourceName} and ${storeName}, ${this.#input.messages.length} messages from ${this.#request.input ?? 'the SMS example'}`,
    )
    const store = await this.#openStore()
    try {
      const source = await this.#openSource()
      try {
        return await this.#handleAll(source, store)
      } finally {
        await source.close()
      }
    } finally {
      await store.close()
    }
  }

  async #handleAll(source: DemoSource, store: DemoStore): Promise<number> {
    const outgoing = this.#outgoing(source)
    const progress = new Progress(outgoing.length, !this.#request.json)
    const startedAt = performance.now()
    const secondsSoFar = (): number => (performance.now() - startedAt) / 1000
    const watchdog = new Watchdog(
      () => this.#tally.ended + this.#tally.settled,
      () => this.#running?.health(),
    )
    if (source instanceof MemoryDemoSource) {
      this.#faults = new MemoryFaults(source, outgoing.length, {
        simulatesCrashes: this.#request.killAt === undefined,
        crash: () => this.#crash(source, store),
      })
    }
    const showProgress = (): void => {
      const { delivered, ended, duplicates } = this.#tally
      progress.grow(delivered)
      const rate = Math.round(ended / secondsSoFar())
      progress.update(ended, { handled: this.#killSwitch.count('marked'), duplicates, rate })
    }
    const ticking = setInterval(showProgress, 100)
    try {
      await this.#start(source, store)
      const work = source.produce(outgoing).then(() => source.drained(() => this.#isIdle()))
      await Promise.race([work, watchdog.stalled])
    } finally {
      clearInterval(ticking)
      showProgress()
      progress.stop()
      watchdog.stop()
      await this.#running?.stop({ deadlineMs: 5_000 })
    }
    const seconds = secondsSoFar()
    this.#state.drained()
    return this.#conclude(source, store, outgoing.length, seconds)
  }

  #isIdle(): boolean {
    return this.#tally.delivered === this.#tally.ended
  }

  /** Messages that an earlier run may have left, and then the whole input, as if a producer sent it again. */
  #outgoing(source: DemoSource): Outgoing[] {
    const run = randomBytes(4).toString('hex')
    const messages: readonly InputMessage[] = [...this.#state.leftover(this.#input), ...this.#input.messages]
    for (const message of messages) {
      const refusal = source.refusal(message)
      if (refusal !== undefined)
        throw new CommandError(EXIT.usage, `${message.where}: ${refusal}. Nothing was produced.`)
    }
    this.#state.add(this.#input)
    return messages.map((message, index) => ({ ...message, publishId: `${run}/${index}` }))
  }

  async #start(source: DemoSource, store: DemoStore): Promise<void> {
    const incarnation = new IncarnationStore(store.store, {
      onClaimed: (count) => {
        this.#killSwitch.reached('claimed', count)
        this.#faults?.claimed()
      },
      onMarked: (count) => {
        this.#killSwitch.reached('marked', count)
        this.#faults?.marked()
      },
    })
    this.#incarnation = incarnation
    this.#running = await source.run(this.#consumer(incarnation, store))
  }

  #incarnation: IncarnationStore | undefined

  #consumer(incarnation: IncarnationStore, { handle }: DemoStore): Consumer {
    const readId = messageId.header(ID_HEADER)
    const isLease = incarnation.strategy === 'lease'
    return defineConsumer<Message['value'], Message['value'], unknown>({
      name: 'sms-sender',
      store: incarnation as Store<unknown>,
      decode: (bytes) => bytes,
      id: (message) => {
        this.#tally.arrived(message)
        return readId(message)
      },
      handle: async (context: HandlerContext<Message['value'], unknown>) => {
        const effect = handle(context)
        if (effect instanceof Promise) await effect
        incarnation.effectHappened()
        this.#killSwitch.reached('handled')
      },
      observe: (event) => {
        if (incarnation.isDead) return
        this.#tally.observe(event)
        if (event.type === 'settles') this.#killSwitch.reached('settled', event.count)
        if (event.type === 'delivery') this.#faults?.progress(this.#tally.ended)
        if (event.type === 'store-down')
          this.#talk(`the store does not answer (${describeError(event.error)}): paused, nothing is settled`)
        if (event.type === 'store-up') this.#talk('the store answers again')
        if (event.type === 'source') this.#talk(`${this.#request.source}: ${event.event} ${event.detail ?? ''}`.trim())
      },
      ...(isLease ? { leaseMs: LEASE_MS, onInDoubt: this.#request.onInDoubt } : {}),
    })
  }

  /** Simulates the death of the process of this incarnation; a new one takes over. */
  #crash(source: MemoryDemoSource, store: DemoStore): boolean {
    const dying = this.#incarnation
    if (dying === undefined || dying.isDead) return false
    if (dying.strategy === 'lease' && !this.#mayCrashUnderLease(dying)) return false
    const isRolledBack = dying.die()
    source.kill()
    // Deliveries in flight in the dead process have no outcome.
    this.#tally.ended = this.#tally.delivered
    void isRolledBack.then(() => this.#start(source, store))
    return true
  }

  /**
   * A crash of the memory broker must not repeat an effect, nor park a message unless `--on-in-doubt park` asks for
   * that.
   */
  #mayCrashUnderLease(dying: IncarnationStore): boolean {
    return this.#request.onInDoubt === 'park' ? dying.holdsNothing : dying.isBetweenEffects
  }

  async #conclude(source: DemoSource, store: DemoStore, outgoing: number, seconds: number): Promise<number> {
    const own = await source.deadLetters()
    const deadLetters = this.#state.writeDeadLetters(this.#request.source, own)
    const effects = await store.effects()
    const { lost, doubleEffects } = verify(this.#state.allMessages(), effects, deadLetters)
    if (this.#request.effects !== undefined) {
      writeFileSync(this.#request.effects, effects.map((effect) => `${JSON.stringify(effect)}\n`).join(''))
    }
    const tally = this.#tally
    const ids = new Set(this.#input.messages.flatMap(({ id }) => (id === undefined ? [] : [id])))
    const report: Report = {
      schema_version: 1,
      source: this.#request.source,
      store: this.#request.store,
      delivered: tally.delivered,
      distinct: ids.size,
      handled: this.#killSwitch.count('marked'),
      duplicates: tally.duplicates,
      joined: tally.joined,
      redeliveries: tally.redeliveries,
      conflicts: tally.conflicts,
      no_id: this.#input.messages.filter(({ id }) => id === undefined).length,
      dead_lettered: tally.dead_lettered,
      parked: tally.parked,
      in_doubt: tally.in_doubt,
      failed: tally.failed,
      lost,
      double_effects: doubleEffects,
      resumed: this.#state.resumed,
      seconds: Math.round(seconds * 1000) / 1000,
      deliveries_per_second: Math.round(tally.delivered / seconds),
    }
    if (this.#request.json) process.stdout.write(`${JSON.stringify(report)}\n`)
    else {
      const story = {
        faults: this.#faults?.happened,
        published: outgoing,
        withoutLibrary: tally.delivered - tally.dead_lettered,
        effects: effects.filter(({ id }) => ids.has(id)).length,
        places: [source.place, store.place],
        deadLetters: `dead letters in ${this.#state.path('dead-letters.ndjson')}`,
      }
      process.stdout.write(`${tell(report, story, this.#request)}\n`)
    }
    const { killAt } = this.#request
    if (killAt !== undefined) {
      this.#talk(
        `--kill-at ${killAt.step}:${killAt.count} was never reached: this run got to ${this.#killSwitch.count(killAt.step)}`,
      )
      return EXIT.findings
    }
    return lost === 0 && doubleEffects === 0 ? EXIT.ok : EXIT.findings
  }

  #openStore(): Promise<DemoStore> {
    switch (this.#request.store) {
      case 'memory':
        return Promise.resolve(memoryDemoStore(this.#state))
      case 'pglite':
        return pgliteDemoStore(this.#state)
      case 'postgres':
        return postgresDemoStore(this.#state)
      case 'redis':
        return redisDemoStore(this.#state)
    }
  }

  #openSource(): Promise<DemoSource> {
    switch (this.#request.source) {
      case 'memory':
        return Promise.resolve(new MemoryDemoSource(this.#state))
      case 'kafka':
        return kafkaDemoSource(this.#state)
      case 'rabbitmq':
        return rabbitDemoSource(this.#state)
    }
  }
}

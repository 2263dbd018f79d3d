import { appendFileSync, writeFileSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import {
  defineConsumer,
  messageId,
  type Consumer,
  type Message,
  type ObserverEvent,
  type Outcome,
  type Running,
} from '../../src/index.ts'
import { type MemoryBroker } from '../../src/memory/index.ts'
import { countedText } from '../../src/core/counted-text.ts'
import { describeError } from '../../src/internal.ts'
import { EXIT } from '../exit.ts'
import { Meter } from '../meter.ts'
import { say } from '../output.ts'
import { BROKERS, deadLettersOf, publish, type DemoBroker } from './brokers.ts'
import { given } from './failures.ts'
import { ID_HEADER, readInput, type Input } from './input.ts'
import { effectOf, judge, ndjson } from './ledger.ts'
import { NONE, tell, type Counts, type Faults, type Report } from './report.ts'
import type { DemoRequest, KillStep } from './request.ts'
import { DemoState } from './state.ts'
import { STORES, type DemoStore } from './stores.ts'

/** When the broker in memory has a fault, as a share of the published messages. */
const FAULTS: readonly (readonly [share: number, fault: keyof Faults])[] = [
  [0.1, 'redeliveries'],
  [0.25, 'rebalances'],
  [0.4, 'crashes'],
  [0.55, 'redeliveries'],
  [0.7, 'crashes'],
  [0.85, 'redeliveries'],
]
/** Messages of one burst of redeliveries. */
const BURST = 300

/** Every publish has a number of its own, so a repeated number is a redelivery. */
const PUBLISH_HEADER = 'demo-publish'

/** The lease of the demo. It is short, so that a run after a kill need not wait long. */
const LEASE_MS = 2_000

/** What a delivery adds to. */
const COUNTED: Partial<Record<Outcome, 'duplicates' | 'joined' | 'parked' | 'dead_lettered'>> = {
  duplicate: 'duplicates',
  joined: 'joined',
  parked: 'parked',
  'dead-lettered': 'dead_lettered',
}

/** A delivery with such an outcome does not come again. */
const OVER: ReadonlySet<Outcome | undefined> = new Set<Outcome>(['handled', 'duplicate', 'parked', 'dead-lettered'])

/** Runs the demo, and reports whether every message had its effect once. Returns the exit code. */
export async function runDemo(request: DemoRequest): Promise<number> {
  const input = await readInput(request.input)
  const { effects } = request
  // Before anything happens: an error at the end would hide the result of the run.
  if (effects !== undefined) await given(`--effects ${effects} cannot be written`, () => appendFileSync(effects, ''))
  const state = await DemoState.open(request.state, request.store)
  try {
    const from = request.input ?? 'the SMS example'
    say(
      `consume-once demo: ${request.source} and ${request.store}, ${countedText(input.messages.length, 'message')} from ${from}`,
    )
    const store = await STORES[request.store](state)
    try {
      const broker = await BROKERS[request.source](state.namespace)
      return await new Demo({ request, input, state, store, broker }).run()
    } finally {
      await store.close()
    }
  } finally {
    state.close()
  }
}

interface DemoParts {
  readonly request: DemoRequest
  readonly input: Input
  readonly state: DemoState
  readonly store: DemoStore
  readonly broker: DemoBroker
}

class Demo {
  readonly #parts: DemoParts
  readonly #name: string
  readonly #counts: Counts = { ...NONE }
  readonly #reached: Record<KillStep, number> = { claimed: 0, handled: 0, marked: 0, settled: 0 }
  readonly #faultsLeft = [...FAULTS]
  readonly #faults: Faults = { redeliveries: 0, rebalances: 0, crashes: 0 }
  readonly #delivered = new Set<string>()
  /** Published and not over, by the number of the publish. */
  readonly #pending = new Set<string>()
  #published = 0
  #running: Running | undefined

  constructor(parts: DemoParts) {
    this.#parts = parts
    this.#name = parts.state.namespace
  }

  async run(): Promise<number> {
    const startedAt = performance.now()
    const seconds = (): number => Math.round(performance.now() - startedAt) / 1000
    try {
      await this.#start()
      await this.#produce()
      await this.#allOver(seconds)
    } finally {
      await this.#running?.stop({ deadlineMs: 5_000 })
    }
    this.#parts.state.settled()
    return this.#conclude(seconds())
  }

  async #start(): Promise<void> {
    this.#running = await this.#parts.broker.run(this.#consumer())
  }

  /** Messages that an earlier run may have left, and then the whole input, as if a producer sent it again. */
  async #produce(): Promise<void> {
    const { state, input, broker, request } = this.#parts
    const inputs = [...(await state.leftover(input)), ...input.messages]
    state.add(input)
    const run = randomBytes(4).toString('hex')
    const messages = inputs.map(({ message }, index) => ({
      ...message,
      system: request.source,
      destination: this.#name,
      origin: this.#name,
      headers: { ...message.headers, [PUBLISH_HEADER]: `${run}/${index}` },
    }))
    for (const { headers } of messages) this.#pending.add(headers[PUBLISH_HEADER])
    this.#published = messages.length
    await publish(broker, messages)
  }

  async #allOver(seconds: () => number): Promise<void> {
    const meter = new Meter(!this.#parts.request.json && process.stderr.isTTY)
    while (this.#pending.size > 0) {
      await wait(50)
      const { delivered, handled, duplicates } = this.#counts
      const told = `handled ${handled}  duplicates ${duplicates}  ${Math.round(delivered / seconds())}/s`
      meter.show(this.#published - this.#pending.size, this.#published, told)
    }
    meter.end()
  }

  #consumer(): Consumer {
    const { store, request } = this.#parts
    const readId = messageId.header(ID_HEADER)
    return defineConsumer<Message['value'], Message['value'], unknown>({
      name: 'sms-sender',
      store: store.store,
      decode: (bytes) => bytes,
      id: (message) => {
        this.#arrives(message)
        return readId(message)
      },
      handle: async (context) => {
        const effect = store.effect(effectOf(context), context.tx)
        if (effect instanceof Promise) await effect
        this.#reaches('handled', 1)
      },
      observe: (event) => this.#observe(event),
      ...(store.store.strategy === 'lease' ? { leaseMs: LEASE_MS, onInDoubt: request.onInDoubt } : {}),
    })
  }

  #arrives({ headers }: Message): void {
    this.#counts.delivered++
    const number = String(headers[PUBLISH_HEADER])
    if (this.#delivered.has(number)) this.#counts.redeliveries++
    this.#delivered.add(number)
  }

  #observe(event: ObserverEvent): void {
    if (event.type === 'delivery') this.#ends(event)
    else if (event.type === 'claims') this.#reaches('claimed', event.granted)
    else if (event.type === 'marks') this.#marked(event.count)
    else if (event.type === 'settles') this.#reaches('settled', event.count)
    else if (event.type === 'attempt-failed') this.#counts.failed++
    else if (event.type === 'in-doubt') this.#counts.in_doubt++
    else if (event.type === 'store-down')
      say(`the store does not answer (${describeError(event.error)}): paused, nothing is settled`)
    else if (event.type === 'store-up') say('the store answers again')
    else if (event.type === 'source') say(`${this.#parts.request.source}: ${event.event} ${event.detail ?? ''}`.trim())
  }

  #ends({ outcome, refused, endedAs, reason, message }: Extract<ObserverEvent, { type: 'delivery' }>): void {
    const counted = COUNTED[outcome === 'settle-refused' ? (refused ?? outcome) : outcome]
    if (counted !== undefined) this.#counts[counted]++
    if (counted === 'dead_lettered' && reason === 'conflict') this.#counts.conflicts++
    if (OVER.has(outcome === 'joined' ? endedAs : outcome))
      this.#pending.delete(String(message.headers[PUBLISH_HEADER]))
  }

  /** The marks are durable, and nothing of them is settled: a crash now is one between effect and settle. */
  #marked(count: number): void {
    this.#counts.handled += count
    this.#reaches('marked', count)
    const [share, fault] = this.#faultsLeft[0] ?? []
    const { memory } = this.#parts.broker
    if (share === undefined || fault === undefined || memory === undefined) return
    if (this.#published - this.#pending.size < share * this.#published) return
    this.#faultsLeft.shift()
    // A real crash alone decides what is left in doubt.
    if (fault === 'crashes' && this.#parts.request.killAt !== undefined) return
    this.#faults[fault]++
    this.#happens(fault, memory)
  }

  #happens(fault: keyof Faults, memory: MemoryBroker): void {
    const [topic, group] = [this.#name, this.#name]
    if (fault === 'redeliveries') setImmediate(() => memory.redeliver(topic, group, BURST))
    else if (fault === 'rebalances') setImmediate(() => memory.rebalance(topic, group))
    else {
      memory.kill(topic, group)
      setImmediate(() => void this.#start())
    }
  }

  /** Call it before anything later can happen to these messages. */
  #reaches(step: KillStep, count: number): void {
    this.#reached[step] += count
    const { killAt } = this.#parts.request
    if (killAt?.step === step && this.#reached[step] >= killAt.count) process.kill(process.pid, 'SIGKILL')
  }

  async #conclude(seconds: number): Promise<number> {
    const { request, input, state, store, broker } = this.#parts
    const deadLetters = state.keepDeadLetters(request.source, await deadLettersOf(broker))
    const effects = await store.effects()
    if (request.effects !== undefined) writeFileSync(request.effects, ndjson(effects))
    const { lost, doubleEffects } = judge(await state.allMessages(), effects, deadLetters)
    const ids = new Set(input.messages.flatMap(({ id }) => (id === undefined ? [] : [id])))
    const report: Report = {
      schema_version: 1,
      source: request.source,
      store: request.store,
      distinct: ids.size,
      no_id: input.messages.filter(({ id }) => id === undefined).length,
      ...this.#counts,
      lost,
      double_effects: doubleEffects,
      resumed: state.resumed,
      seconds,
      deliveries_per_second: Math.round(this.#counts.delivered / seconds),
    }
    const story = {
      faults: this.#faults,
      published: this.#published,
      effects: effects.filter(({ id }) => ids.has(id)).length,
      places: [broker.place, store.place, `dead letters in ${state.path('dead-letters.ndjson')}`],
    }
    process.stdout.write(`${request.json ? JSON.stringify(report) : tell(report, story, request)}\n`)
    const { killAt } = request
    if (killAt === undefined) return lost === 0 && doubleEffects === 0 ? EXIT.ok : EXIT.findings
    const got = this.#reached[killAt.step]
    say(`--kill-at ${killAt.step}:${killAt.count} was never reached: this run got to ${got}`)
    return EXIT.findings
  }
}

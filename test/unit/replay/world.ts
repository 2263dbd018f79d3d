import { defineConsumer, messageId, TerminalError, type Consumer, type Subscription } from '../../../src/index.ts'
import { memoryStore, MemoryBroker } from '../../../src/memory/index.ts'
import { memoryReplay } from '../../../src/memory/replay.ts'
import { runMemory } from '../../../src/memory/run.ts'
import {
  entriesOf,
  memoryJournal,
  planReplay,
  runReplay,
  type JournalEntry,
  type PlanOptions,
  type ReplayJournal,
  type ReplayPlan,
  type RunOptions,
  type RunResult,
} from '../../../src/replay/index.ts'

const GROUP = 'sms-senders'
export const WHY = { by: 'ada', reason: 'OPS-812' }

/** A consumer whose effects are counted, with the broker and the store that outlive it. */
export class World {
  readonly broker: MemoryBroker = new MemoryBroker({ partitions: 2 })
  readonly store: ReturnType<typeof memoryStore> = memoryStore()
  readonly effects: string[] = []
  readonly headers: unknown[] = []
  readonly failing: Set<string> = new Set()
  gate: Promise<void> = Promise.resolve()
  readonly open: (() => void)[] = []
  readonly consumer: Consumer
  readonly subscription: Subscription

  constructor(more: { readonly scope?: string; readonly id?: string } = {}) {
    this.consumer = defineConsumer({
      name: 'sms',
      id: messageId.header(more.id ?? 'id'),
      store: this.store,
      maxAttempts: 1,
      handle: async ({ message }) => {
        const id = String(message.headers['id'])
        await this.gate
        if (this.failing.has(id)) throw new TerminalError('no such number')
        this.effects.push(id)
        this.headers.push(message.headers['consume-once-replay-count'])
      },
    })
    this.subscription = { group: GROUP, origins: ['sms'], replay: memoryReplay(this.broker) }
  }

  publish(ids: readonly string[], timestamp: number = Date.now()): void {
    for (const id of ids) {
      const value = Buffer.from(JSON.stringify({ to: `+49${id}` }))
      this.broker.publish('sms', { value, key: Buffer.from(id), headers: { id, other: id }, timestamp })
    }
  }

  /** Handles what was published, as the live consumer. */
  async live(): Promise<void> {
    const running = runMemory(this.broker, this.consumer, { topic: 'sms', group: GROUP })
    await running
    await this.broker.drained('sms', GROUP)
    await running.stop()
  }

  plan(options: Partial<PlanOptions> = {}): Promise<ReplayPlan> {
    return planReplay(this.consumer, this.subscription, { from: 'memory:sms', ...options }).result
  }

  run(plan: ReplayPlan, options: Partial<RunOptions> = {}): Promise<RunResult> {
    const journal = memoryJournal()
    return runReplay(this.consumer, this.subscription, plan, { ...WHY, journal, rate: 10_000, ...options }).result
  }
}

export async function entries(journal: ReplayJournal): Promise<readonly JournalEntry[]> {
  const found: JournalEntry[] = []
  for await (const entry of entriesOf(journal)) found.push(entry)
  return found
}

export const ids = (count: number, prefix = 'm'): readonly string[] =>
  Array.from({ length: count }, (_, at) => `${prefix}${at}`)

/** Two messages of an earlier day, so that the store knows the consumer since before the others. */
export async function adopted(): Promise<World> {
  const world = new World()
  world.publish(['first'])
  await world.live()
  world.effects.length = 0
  world.publish(ids(10))
  await world.live()
  world.publish(ids(5, 'new'))
  return world
}

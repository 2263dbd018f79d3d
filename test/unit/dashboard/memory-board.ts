import { dashboard, type Dashboard, type DashboardOptions } from '../../../dashboard/server/index.ts'
import {
  defineConsumer,
  liveSignals,
  messageId,
  OutcomeUnknownError,
  TerminalError,
  type ConfiguredConsumer,
  type LiveSignals,
  type Running,
  type Store,
} from '../../../src/index.ts'
import { MemoryBroker, memoryReplay, memoryStore, runMemory } from '../../../src/memory/index.ts'
import { pagesFolder } from '../../kit/dashboard.ts'

export const CONSUMER = 'workers/sms'

/** A consumer on memory with messages that are done, parked and given up, and a dashboard of it. */
export class MemoryBoard implements AsyncDisposable {
  readonly broker: MemoryBroker = new MemoryBroker()
  readonly handled: string[] = []
  readonly live: LiveSignals = liveSignals()
  readonly entry: ConfiguredConsumer
  readonly board: Dashboard
  /** IDs that are refused, or not answered. */
  readonly failing: Map<string, 'given-up' | 'parked'> = new Map()
  #running: Running | undefined

  constructor(options: Partial<DashboardOptions> = {}, store: Store = memoryStore()) {
    const { live } = this
    const consumer = defineConsumer({
      name: 'sms',
      id: messageId.header('id'),
      store,
      onInDoubt: 'park',
      observe: live,
      handle: ({ message }) => {
        const id = String(message.headers['id'])
        const fate = this.failing.get(id)
        if (fate === 'given-up') throw new TerminalError(`no such number <script>alert(1)</script>`)
        if (fate === 'parked') throw new OutcomeUnknownError('no answer of the provider')
        this.handled.push(id)
      },
    })
    const replay = memoryReplay(this.broker)
    this.entry = { consumer, subscription: { group: 'workers', origins: ['sms'], replay } }
    this.board = dashboard({ consumers: [this.entry], live, pages: pagesFolder(), ...options })
  }

  get running(): Running {
    if (this.#running === undefined) throw new Error('send() starts the consumer (memory-board)')
    return this.#running
  }

  async send(ids: readonly string[]): Promise<void> {
    this.#running ??= await runMemory(this.broker, this.entry.consumer, { topic: 'sms', group: 'workers' })
    for (const id of ids)
      this.broker.publish('sms', { value: Buffer.from(JSON.stringify({ to: id })), headers: { id } })
    await this.broker.drained('sms', 'workers')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running?.stop()
    await this.board.close()
  }
}

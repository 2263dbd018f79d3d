import type { JobInfo, Meant } from '../../../dashboard/api.ts'
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
import { Page, pagesFolder } from '../../kit/dashboard.ts'
import { newFolder } from '../../kit/servers/private-instance.ts'

export const CONSUMER = 'workers/sms'

/** Options of a dashboard that may change something. */
export const writable = (): Partial<DashboardOptions> => ({
  readOnly: false,
  auth: () => ({ by: 'ana' }),
  journals: newFolder('journals'),
})

/** IDs of so many messages. */
export const numbered = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => `m${at}`)

type Job<Kind extends JobInfo['kind']> = Extract<JobInfo, { readonly kind: Kind }>

/** The job, once it is over. */
export async function ended(page: Pick<Page, 'get'>, { id }: JobInfo): Promise<JobInfo> {
  for (;;) {
    const { answer } = await page.get('GET api/job', { id })
    if (answer.state !== 'running') return answer
    // Requests are limited, and a job may write to a disk.
    await new Promise((resolve) => void setTimeout(resolve, 20))
  }
}

/** A consumer on memory with messages that are done, parked and given up, a dashboard of it, and an honest page. */
export class MemoryBoard implements AsyncDisposable {
  readonly broker: MemoryBroker = new MemoryBroker()
  readonly handled: string[] = []
  readonly live: LiveSignals = liveSignals()
  readonly entry: ConfiguredConsumer
  readonly board: Dashboard
  readonly #page: Page
  readonly get: Page['get'] = (name, query) => this.#page.get(name, query)
  readonly post: Page['post'] = (name, body, init) => this.#page.post(name, body, init)
  readonly raw: Page['raw'] = (path, init) => this.#page.raw(path, init)
  /** IDs that are refused, or not answered. */
  readonly failing: Map<string, 'given-up' | 'parked'> = new Map()
  #running: Running | undefined

  /** @param decoding - called before a payload is read */
  constructor(
    options: Partial<DashboardOptions> = {},
    store: Store = memoryStore(),
    decoding: () => void = () => undefined,
  ) {
    const { live } = this
    const consumer = defineConsumer({
      name: 'sms',
      id: messageId.header('id'),
      store,
      decode: (value) => {
        decoding()
        return JSON.parse(Buffer.from(value ?? []).toString()) as unknown
      },
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
    this.#page = new Page(this.board)
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

  /** Sends them; their first handlers fail like that. */
  async sendFailing(fate: 'given-up' | 'parked', ids: readonly string[]): Promise<void> {
    for (const id of ids) this.failing.set(id, fate)
    await this.send(ids)
    this.failing.clear()
  }

  /** Looks for dead letters, and gives what was found. */
  async looked(only: Meant = {}): Promise<Job<'dead-letters'>> {
    const { answer } = await this.post('POST api/dead-letters/look', { consumer: CONSUMER, ...only })
    return jobOf('dead-letters', await ended(this, answer))
  }

  /** A plan to handle what was given up. */
  async planned(): Promise<Job<'plan'>> {
    const asked = { consumer: CONSUMER, from: 'memory:sms', rules: { givenUp: 'handle' } } as const
    return jobOf('plan', await ended(this, (await this.post('POST api/plans', asked)).answer))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running?.stop()
    await this.board.close()
  }
}

function jobOf<Kind extends JobInfo['kind']>(kind: Kind, job: JobInfo): Job<Kind> {
  if (job.kind !== kind) throw new Error(`expected a job of kind ${kind}, got ${job.kind}`)
  return job as Job<Kind>
}

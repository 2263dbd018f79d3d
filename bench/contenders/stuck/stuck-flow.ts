import { setTimeout as sleep } from 'node:timers/promises'
import { MOST_IN_ONE } from '../../places/plans.ts'
import type { Job, Measurement } from '../../suite.ts'
import { indexOf } from '../../tally.ts'
import { committedOffsets } from '../clients/kafka-client.ts'
import { MemoryWatch } from './memory-watch.ts'

/** After this time without a new start, everything that can be handled has been handled. */
const QUIET_MS = 5_000
const QUIET_IN_SMOKE_MS = 2_000
export const OTHERS = 'others, %'

/** Counts what flows beside a message that is stuck, until nothing does any more. */
export class Flow {
  readonly #job: Job
  readonly #isStuck: boolean
  readonly #seen: Uint8Array
  #startedAt = 0
  #lastAt = 0
  #cpu: NodeJS.CpuUsage | undefined

  constructor(job: Job, isStuck: boolean) {
    this.#job = job
    this.#isStuck = isStuck
    this.#seen = new Uint8Array(job.messages)
  }

  async handle(id: unknown): Promise<void> {
    const index = indexOf(id)
    this.#lastAt = performance.now()
    if (this.#startedAt === 0) {
      this.#startedAt = this.#lastAt
      this.#cpu = process.cpuUsage()
    }
    this.#seen[index] = (this.#seen[index] ?? 0) + 1
    if (index === 0 && this.#isStuck) await new Promise<never>(() => {})
  }

  async watch(run: () => Promise<unknown>): Promise<Measurement> {
    using memory = new MemoryWatch()
    await run()
    const quietMs = this.#job.isSmoke ? QUIET_IN_SMOKE_MS : QUIET_MS
    while (this.#startedAt === 0 || performance.now() - this.#lastAt < quietMs) await sleep(100)
    const { user, system } = process.cpuUsage(this.#cpu)
    const handled = { behind: 0, others: 0 }
    let repeated = 0
    for (const [index, starts] of this.#seen.entries()) {
      if (starts > 0) handled[MOST_IN_ONE.partitionOf(index) === 0 ? 'behind' : 'others']++
      if (starts > 1) repeated++
    }
    const committed = await committedOffsets(this.#job)
    if (repeated > 0) throw new Error(`${repeated} messages were handled twice`)
    if (this.#isStuck && (committed.get(0) ?? 0) > 0) throw new Error('committed past a message that is not finished')
    const sent = this.#seen.reduce((sum, _, index) => sum + (MOST_IN_ONE.partitionOf(index) === 0 ? 0 : 1), 0)
    return {
      messages: handled.behind + handled.others,
      tookMs: this.#lastAt - this.#startedAt,
      cpuMs: (user + system) / 1_000,
      figures: {
        [OTHERS]: (handled.others / sent) * 100,
        'behind it, %': (handled.behind / (this.#job.messages - sent)) * 100,
        ...memory.figures(),
      },
    }
  }
}

import { Pool } from 'pg'
import { json, type ObserverEvent } from 'consume-once'
import type { Worker, WorkerFunctions, WorkerHooks } from '../kit/worker/module.ts'
import { observed } from '../kit/worker/observed.ts'
import { Effects } from './effects.ts'
import type { Payload } from './messages.ts'
import { reportUsage } from './usage.ts'
import { REPORT_USAGE_EVERY_MS, type ChaosReport, type ChaosSettings } from './worker-settings.ts'

export type ChaosWorker = Worker<ChaosSettings, ChaosReport>

/** Hooks of every worker, independent of its broker. */
export function chaosHooks(worker: ChaosWorker, id: NonNullable<WorkerFunctions<Payload>['id']>): WorkerHooks<Payload> {
  const { settings, process: name } = worker.spec
  const pool = new Pool({ connectionString: settings.postgresUrl, max: 6, application_name: name })
  pool.on('error', () => {}) // Postgres ends the transaction of a process that was frozen.
  const effects = new Effects(worker.spec, pool)
  const outcomes = new Outcomes(worker)
  if (settings.soak !== undefined) reportUsage(REPORT_USAGE_EVERY_MS, (usage) => worker.report({ usage }))
  const functions = { id, decode: json<Payload>(), observe: (event: ObserverEvent) => outcomes.observe(event) }
  const isBatched = settings.soak !== undefined && worker.spec.store.strategy === 'inbox'
  return {
    consumer: isBatched
      ? { ...functions, handleBatch: ({ messages, tx = pool }) => effects.handle(messages, tx) }
      : { ...functions, handle: (context) => effects.handle([context], context.tx ?? pool) },
    stopped: () => outcomes.report(),
  }
}

/** Reports to the run: events at once, outcomes as counts from time to time. */
class Outcomes {
  readonly #worker: ChaosWorker
  #counts: Record<string, number> = {}

  constructor(worker: ChaosWorker) {
    this.#worker = worker
    setInterval(() => this.report(), 500).unref()
  }

  observe(event: ObserverEvent): void {
    if (event.type === 'delivery') this.#counts[event.outcome] = (this.#counts[event.outcome] ?? 0) + 1
    else this.#worker.reportObserved(observed(event))
  }

  report(): void {
    if (Object.keys(this.#counts).length > 0) this.#worker.report({ counts: this.#counts })
    this.#counts = {}
  }
}

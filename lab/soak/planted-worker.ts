// A worker without a broker: does what the handlers of a soak do again and again, with whatever was planted.
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'pg'
import { Effects } from '../chaos/effects.ts'
import type { ChaosWorker } from '../chaos/hooks.ts'
import { reportUsage } from '../chaos/usage.ts'
import type { WorkerHooks } from '../kit/worker/module.ts'

const REPORT_EVERY_MS = 200

export default function alone(worker: ChaosWorker): WorkerHooks<never> {
  const { settings, process: name } = worker.spec
  const pool = new Pool({ connectionString: settings.postgresUrl, max: 1, application_name: name })
  const effects = new Effects(worker.spec, pool)
  const payload = { id: 'm-7', workMs: 0, fails: 'never', padding: '' } as const
  const messages = Array.from({ length: 200 }, () => ({ payload, message: { position: 'queue#1' }, attempt: 1 }))
  const work = async (): Promise<never> => {
    for (;;) {
      await effects.handle(messages, pool)
      await sleep(REPORT_EVERY_MS)
    }
  }
  reportUsage(REPORT_EVERY_MS, (usage) => worker.report({ usage }))
  return { running: () => void work() }
}

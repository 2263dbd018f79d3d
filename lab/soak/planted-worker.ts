// A worker without a broker: handles the same messages again and again, with whatever was planted.
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'pg'
import { Effects } from '../chaos/effects.ts'
import { tellUsage } from '../chaos/usage.ts'
import { readSettings } from '../chaos/worker-program.ts'
import type { WorkerLine, WorkerSettings } from '../chaos/worker-settings.ts'

const settings = readSettings() as WorkerSettings
const pool = new Pool({ connectionString: settings.postgresUrl, max: 1, application_name: settings.process })
const effects = new Effects(settings, pool)
const planted = { id: 'm-7', workMs: 0, fails: 'never', padding: '' } as const
const messages = Array.from({ length: 200 }, () => ({ payload: planted, message: { position: 'queue#1' }, attempt: 1 }))
const TELL_EVERY_MS = 200

process.stdin.resume().once('end', () => process.exit(0)) // Nobody is there any more.
tellUsage(TELL_EVERY_MS, (usage) => {
  process.stdout.write(`${JSON.stringify({ says: 'usage', usage } satisfies WorkerLine)}\n`)
})
for (;;) {
  await effects.handle(messages, pool)
  await sleep(TELL_EVERY_MS)
}

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Usage } from './worker-settings.ts'

/** Reports at intervals what this process holds after a garbage collection: growth then means a leak. */
export function reportUsage(everyMs: number, report: (usage: Usage) => void): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  setInterval(() => {
    collect()
    const active = process.getActiveResourcesInfo()
    const timers = active.filter((resource) => resource === 'Timeout').length
    const heapMb = process.memoryUsage().heapUsed / 2 ** 20
    report({ heapMb, timers, handles: active.length - timers })
  }, everyMs).unref()
}

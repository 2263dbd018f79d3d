import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import { join } from 'node:path'

/** The per-connection request queue of kafkajs, as far as it is used here. */
interface RequestQueue {
  readonly pending: readonly unknown[]
  readonly throttledUntil: number
  throttleCheckTimeoutId: NodeJS.Timeout | null
  checkPendingRequests(): void
}

const MODULE = 'kafkajs/src/network/requestQueue/index.js'

/** Hash of the method's source in kafkajs 2.2.4. Any other source is not replaced. */
const KNOWN_SOURCE = '04347ea969c6f2e3754427c0cbaee0bd4ce947fbd82f7b6e027506a06dfc581a'

/** As in kafkajs: how soon a request that waits for another one is checked again. */
const LOOK_AGAIN_MS = 10

/**
 * Works around a defect of kafkajs 2.2: each connection sets a timer every millisecond, for ever, even if there is
 * nothing to send. It replaces one method of kafkajs, for the whole process and all its clients: a timer is set only
 * while a request waits. Request timeouts and throttling by the broker work as before. Call it once, before or after
 * you create clients.
 *
 * @returns true if the method is replaced. `false`: this version of kafkajs is not known, and nothing was changed
 */
export function quietKafkaTimers(): boolean {
  const prototype = requestQueuePrototype()
  const method = prototype?.['scheduleCheckPendingRequests']
  if (prototype === undefined || typeof method !== 'function') return false
  if (method === scheduleCheckPendingRequests) return true
  if (createHash('sha256').update(String(method)).digest('hex') !== KNOWN_SOURCE) return false
  prototype['scheduleCheckPendingRequests'] = scheduleCheckPendingRequests
  return true
}

/** The kafkajs that the process has loaded, wherever it is installed; else the one that the program would load. */
function requestQueuePrototype(): Record<string, unknown> | undefined {
  const require = createRequire(join(process.cwd(), 'any.js'))
  const path = Object.keys(require.cache).find((file) => file.replaceAll('\\', '/').endsWith(`/node_modules/${MODULE}`))
  try {
    const loaded: unknown = require(path ?? MODULE)
    return typeof loaded === 'function' ? (loaded.prototype as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/**
 * kafkajs sets the timer without checking that a request waits, with a negative delay, which becomes one millisecond.
 */
function scheduleCheckPendingRequests(this: RequestQueue): void {
  if (this.throttleCheckTimeoutId !== null || this.pending.length === 0) return
  const throttledForMs = this.throttledUntil - Date.now()
  const lookAgainInMs = throttledForMs > 0 ? throttledForMs : LOOK_AGAIN_MS
  this.throttleCheckTimeoutId = setTimeout(() => {
    this.throttleCheckTimeoutId = null
    this.checkPendingRequests()
  }, lookAgainInMs)
}

import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'

/** What kafkajs keeps for each connection, as far as it is used here. */
interface RequestQueue {
  readonly pending: readonly unknown[]
  readonly throttledUntil: number
  throttleCheckTimeoutId: NodeJS.Timeout | null
  checkPendingRequests(): void
}

const MODULE = 'kafkajs/src/network/requestQueue/index.js'

/** Of the method as kafkajs 2.2.4 has it: what is not exactly that is not replaced. */
const KNOWN_SOURCE = '04347ea969c6f2e3754427c0cbaee0bd4ce947fbd82f7b6e027506a06dfc581a'

/** As kafkajs: how soon a request is looked at again that waits for another one. */
const LOOK_AGAIN_MS = 10

/**
 * Ends a defect of kafkajs 2.2: each connection sets a timer anew every millisecond, for ever, also while nothing is to be
 * sent. It replaces one method of kafkajs, for the whole process and all its clients: a timer is set only while a request
 * waits. Requests time out, and throttling by the broker is kept, as before. Call it once, before or after clients are made.
 *
 * @returns whether the loop is ended. `false`: this kafkajs is not the one that is known, and nothing was changed
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

function requestQueuePrototype(): Record<string, unknown> | undefined {
  try {
    const loaded: unknown = createRequire(import.meta.url)(MODULE)
    return typeof loaded === 'function' ? (loaded.prototype as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** kafkajs sets the timer without a look at whether anything waits, after a negative time, which is one millisecond. */
function scheduleCheckPendingRequests(this: RequestQueue): void {
  if (this.throttleCheckTimeoutId !== null || this.pending.length === 0) return
  const throttledForMs = this.throttledUntil - Date.now()
  const lookAgainInMs = throttledForMs > 0 ? throttledForMs : LOOK_AGAIN_MS
  this.throttleCheckTimeoutId = setTimeout(() => {
    this.throttleCheckTimeoutId = null
    this.checkPendingRequests()
  }, lookAgainInMs)
}

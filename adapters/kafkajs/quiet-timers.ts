import { ConfigError } from '../../src/internal.ts'
import type { KafkaLike } from './kafkajs-like.ts'

/** The per-connection request queue of kafkajs, as far as it is used here. */
interface RequestQueue {
  readonly pending: readonly unknown[]
  readonly throttledUntil: number
  throttleCheckTimeoutId: NodeJS.Timeout | null
  checkPendingRequests(): void
}

/** What makes the connections of a client. With a host it makes the objects, and opens none. */
interface Cluster {
  readonly connectionPoolBuilder: {
    build(to: { readonly host: string; readonly port: number }): Promise<ConnectionPool>
  }
}

interface ConnectionPool {
  readonly pool: readonly { readonly requestQueue: object }[]
}

type Method = (...given: never[]) => unknown
type Prototype = Record<string, Method | undefined>

const METHOD = 'scheduleCheckPendingRequests'

/** The properties that the method of kafkajs 2.2.4 uses, in order: a minifier keeps them. Any other method is not replaced. */
const KNOWN_METHOD =
  'throttledUntil now throttleCheckTimeoutId pending length throttleCheckTimeoutId throttleCheckTimeoutId checkPendingRequests'

/** As in kafkajs: how soon a request that waits for another one is checked again. */
const LOOK_AGAIN_MS = 10

/**
 * Works around a defect of kafkajs 2.2: each connection sets a timer every millisecond, for ever, even if there is
 * nothing to send; from Node 24 on each process prints a `TimeoutNegativeWarning` for it. It replaces one method of the
 * kafkajs that made this client, for all clients of that copy: a timer is set only while a request waits. Request
 * timeouts and throttling by the broker work as before. Call it once, before or after you connect.
 *
 * @param kafka - a client of kafkajs. It may be bundled, and the process may have other copies of kafkajs
 * @returns a promise of true if the method is replaced. `false`: this client is not of a known version, and nothing was changed
 * @throws (rejects) ConfigError `CONFIG_INVALID` without a client
 */
export async function quietKafkaTimers(kafka: Pick<KafkaLike, 'consumer'>): Promise<boolean> {
  if (typeof kafka !== 'object' || kafka === null) {
    throw new ConfigError([
      `quietKafkaTimers: expected a Kafka client, got ${kafka === null ? 'null' : typeof kafka}: quietKafkaTimers(kafka)`,
    ])
  }
  const prototype = await requestQueueOf(kafka)
  const method = prototype?.[METHOD]
  if (prototype === undefined || method === undefined) return false
  if (QUIET in method) return true
  if (propertiesIn(method) !== KNOWN_METHOD) return false
  prototype[METHOD] = scheduleCheckPendingRequests
  return true
}

/** The request queue of the kafkajs that made this client. Its classes are not exported, so a connection is made, and never opened. */
async function requestQueueOf(kafka: object): Promise<Prototype | undefined> {
  const createCluster = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === 'private:Kafka:createCluster',
  )
  if (createCluster === undefined) return undefined
  try {
    const cluster = (kafka as Record<symbol, (options: object) => Cluster>)[createCluster]?.({})
    const made = await cluster?.connectionPoolBuilder.build({ host: 'none', port: 0 })
    const queue = made?.pool[0]?.requestQueue
    return queue === undefined ? undefined : (Object.getPrototypeOf(queue) as Prototype)
  } catch {
    return undefined
  }
}

function propertiesIn(method: Method): string {
  const code = String(method).replaceAll(/\/\/.*|\/\*[^]*?\*\//g, '')
  return [...code.matchAll(/\.([a-zA-Z]\w*)/g)].map(([, name]) => name).join(' ')
}

/** So that another copy of this package knows what is quiet. */
const QUIET: unique symbol = Symbol.for('consume-once.quiet')

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
Object.defineProperty(scheduleCheckPendingRequests, QUIET, { value: true })

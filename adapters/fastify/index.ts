import type { FastifyInstance, FastifyReply } from 'fastify'
import {
  atOnce,
  either,
  flag,
  func,
  needed,
  object,
  oneOf,
  optionsOf,
  or,
  plainText,
  STOP,
  type Health,
  type Running,
  type StopOptions,
  type Table,
} from '../../src/internal.ts'

export interface ConsumeOnceFastifyOptions extends StopOptions {
  /**
   * Starts the consumers, by name: `() => ({ sms: runKafka(kafka, sms, { topics: ['sms'], group: 'sms' }) })`. Called when
   * the application is ready to listen.
   */
  readonly start: () => Readonly<Record<string, Running>>
  /**
   * Where the application answers probes: 200, or 503 with the health of each consumer. `false`: nowhere.
   * @defaultValue `/healthz` and `/readyz`
   */
  readonly routes?: false | { readonly live: string; readonly ready: string }
  /**
   * The start of the application waits until every consumer has joined, and fails with the first that cannot.
   * @defaultValue false: the application answers probes while the broker is being joined
   */
  readonly waitForReady?: boolean
}

const ROUTE: Table<{ readonly live: string; readonly ready: string }> = {
  live: needed(plainText()),
  ready: needed(plainText()),
}

const PLUGIN: Table<ConsumeOnceFastifyOptions> = {
  ...STOP,
  start: needed(func()),
  routes: or({ live: '/healthz', ready: '/readyz' }, either(oneOf(false), object(ROUTE))),
  waitForReady: or(false, flag()),
}

const START_AT_ONCE = 'return the running consumers themselves; waitForReady waits until they have joined'

/**
 * A plugin of Fastify: consumers start with the application and stop when it is closed, before the plugins that were
 * registered earlier. `app.consumers` has them by name.
 *
 * @throws (rejects) ConfigError `CONFIG_INVALID`
 */
export async function consumeOncePlugin(app: FastifyInstance, options: ConsumeOnceFastifyOptions): Promise<void> {
  const { start, routes, waitForReady, deadlineMs } = optionsOf('consumeOncePlugin', PLUGIN, options)
  const consumers: Record<string, Running> = {}
  let isClosed = false
  const stop = async (): Promise<void> => {
    isClosed = true
    await Promise.all(Object.values(consumers).map((running) => running.stop({ deadlineMs })))
  }
  app.decorate('consumers', consumers)
  app.addHook('onReady', async () => {
    // `close()` before the application has loaded calls `onClose` first. A consumer that starts after that would never stop.
    if (isClosed) return
    Object.assign(consumers, atOnce('start', start(), START_AT_ONCE))
    if (!waitForReady) return
    try {
      await Promise.all(Object.values(consumers).map((running) => running.ready()))
    } catch (error) {
      await stop()
      throw error
    }
  })
  app.addHook('onClose', stop)
  if (routes === false) return
  app.get(routes.live, (_, reply) => answer(reply, consumers, ({ live }) => live))
  app.get(routes.ready, (_, reply) => answer(reply, consumers, ({ ready }) => ready))
}

// The hooks and the decorator are those of the application, not of a scope of the plugin's own.
Object.assign(consumeOncePlugin, { [Symbol.for('skip-override')]: true })

function answer(
  reply: FastifyReply,
  consumers: Readonly<Record<string, Running>>,
  isUp: (health: Health) => boolean,
): FastifyReply {
  const health = Object.fromEntries(Object.entries(consumers).map(([name, running]) => [name, running.health()]))
  const isAllUp = Object.values(health).every(isUp)
  return reply.code(isAllUp ? 200 : 503).send({ status: isAllUp ? 'up' : 'down', consumers: health })
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Started by `consumeOncePlugin`; empty before the application is ready. */
    consumers: Readonly<Record<string, Running>>
  }
}

import { createServer } from 'node:http'
import {
  ConfigError,
  describeError,
  hasMethod,
  having,
  matching,
  needed,
  optionsOf,
  whole,
  type Running,
  type Table,
} from '../../src/internal.ts'
import { answerTo, type Metrics, type Snapshots } from './answer.ts'

export type { Metrics, Snapshots } from './answer.ts'

export interface HealthServerOptions {
  /** 1 to 65535; 0 takes a free one. */
  readonly port: number
  /**
   * The address to listen on. Probes of an orchestrator come from outside the container, so loopback is not the default.
   * @defaultValue every address of the machine
   */
  readonly host?: string
  /** Served as `/metrics`: the registry of prom-client, or anything with its two members. @defaultValue none */
  readonly metrics?: Metrics
  /**
   * Served as `/live.json` for `consume-once dashboard`: what `liveSignals()` collects. It names keys, destinations and
   * reasons, no payload. @defaultValue none
   */
  readonly live?: Snapshots
}

export interface HealthServer extends AsyncDisposable {
  readonly port: number
  /** Ends open connections too. Idempotent. */
  close(): Promise<void>
}

/** What `serveHealth` needs of a consumer: the handle that `runKafka`, `runRabbit` and `runInline` return. */
export type Watched = Pick<Running, 'health'>

const SERVER: Table<HealthServerOptions, 'host' | 'metrics' | 'live'> = {
  port: needed(whole({ least: 0, most: 65_535 })),
  host: matching('an address', /./),
  metrics: having('a registry of prom-client, such as its `register`', 'metrics'),
  live: having('what liveSignals() returned', 'snapshot'),
}

/**
 * Serves the health of one or several consumers of this process, for an orchestrator and for Prometheus. Start it before
 * you wait for `ready()`: it answers while the broker is being joined.
 *
 * | path         | 200                                          | 503                                                   |
 * | ------------ | -------------------------------------------- | ----------------------------------------------------- |
 * | `/healthz`   | every consumer is `live`                     | a restart would help                                  |
 * | `/readyz`    | every consumer is `ready`                    | not joined, rebalancing, store down, stalled, stopped |
 * | `/metrics`   | the metrics, in the format of the registry   |                                                       |
 * | `/live.json` | what the dashboard shows of this process     |                                                       |
 *
 * `/healthz` and `/readyz` answer with the health of each consumer as JSON. The server does not keep the process alive.
 *
 * @param running - handles of consumers. They are read at each request, so they may be in any state
 * @throws (rejects) ConfigError `CONFIG_INVALID`, also if the port cannot be taken
 */
export async function serveHealth(
  running: Watched | readonly Watched[],
  options: HealthServerOptions,
): Promise<HealthServer> {
  const watched = [running].flat()
  const { port, host, metrics, live } = optionsOf('serveHealth', SERVER, options, (_, problems) => {
    if (watched.length > 0 && watched.every((one) => hasMethod(one, 'health'))) return
    problems.push('running: expected what runKafka() or runRabbit() returned, or a list of it')
  })
  const server = createServer((request, response) => void answerTo(request, response, { watched, metrics, live }))
  server.unref()
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(new ConfigError([`serveHealth: port ${port}: ${describeError(error)}`])))
    server.listen({ port, host }, resolve)
  })
  const address = server.address()
  let closing: Promise<void> | undefined
  const close = (): Promise<void> => {
    closing ??= new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
    return closing
  }
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    close,
    [Symbol.asyncDispose]: close,
  }
}

import { createServer } from 'node:http'
import { ConfigError, checkNames, checkWhole, describeError, givenOf, type Running } from '../../src/spi.ts'
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

const KNOWN: Record<keyof HealthServerOptions, true> = { port: true, host: true, metrics: true, live: true }
const LARGEST_PORT = 65_535

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
  const { port, host, metrics, live } = checked(watched, options)
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

/** @throws ConfigError `CONFIG_INVALID` */
function checked(watched: readonly Watched[], options: HealthServerOptions): HealthServerOptions {
  const given = givenOf(options)
  const { port, host, metrics, live } = given
  const problems: string[] = []
  checkNames('', given, { of: 'serveHealth()', known: KNOWN }, problems)
  if (port !== 0) checkWhole('port', port, problems, { most: LARGEST_PORT })
  if (host !== undefined && typeof host !== 'string') problems.push(`host: expected an address, got ${typeof host}`)
  if (metrics !== undefined && typeof metrics?.metrics !== 'function') {
    problems.push('metrics: expected a registry of prom-client, such as its `register`')
  }
  if (live !== undefined && typeof live?.snapshot !== 'function') {
    problems.push('live: expected what liveSignals() returned')
  }
  if (watched.length === 0 || watched.some((one) => typeof one?.health !== 'function')) {
    problems.push('running: expected what runKafka() or runRabbit() returned, or a list of it')
  }
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `serveHealth: ${problem}`))
  return given
}

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { matching, optionsOf, or, whole, type Table } from '../../src/foundation/options.ts'
import { dashboardFor, type Dashboard } from './dashboard.ts'
import { isLoopbackName } from './loopback.ts'
import { DASHBOARD, problemsOfDashboard, type DashboardOptions, type WithoutDefault } from './options.ts'

/** Answers requests of `node:http`, as Express, Fastify and Nest pass them on. */
export type DashboardListener = (request: IncomingMessage, response: ServerResponse) => void

/**
 * Mounts a dashboard in a framework on `node:http`: Express `app.use('/ops', dashboardListener(board))`, with `basePath: '/ops'`. A body
 * parser before it does no harm.
 */
export function dashboardListener(board: Dashboard): DashboardListener {
  return (incoming, outgoing) => void answer(board, incoming, outgoing)
}

async function answer(board: Dashboard, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  try {
    const request = requestOf(incoming)
    if (request === undefined) {
      outgoing.writeHead(400).end()
      return
    }
    const response = await board.fetch(request, incoming.socket.remoteAddress)
    outgoing.writeHead(response.status, Object.fromEntries(response.headers))
    if (response.body === null) outgoing.end()
    else await pipeline(Readable.fromWeb(response.body), outgoing)
  } catch {
    // The client has gone, or its request cannot be read.
    outgoing.destroy()
  }
}

/** `undefined`: its address or a header is not one. */
function requestOf(
  incoming: IncomingMessage & { readonly originalUrl?: string; readonly body?: unknown },
): Request | undefined {
  const { method = 'GET', headers, originalUrl, url = '/' } = incoming
  const address = `http://${headers.host ?? 'localhost'}`
  const path = originalUrl ?? url
  if (!path.startsWith('/') || !URL.canParse(address + path)) return undefined
  try {
    const given = new Headers()
    for (const [name, value] of Object.entries(headers)) {
      if (value !== undefined && !name.startsWith(':')) given.set(name, Array.isArray(value) ? value.join(', ') : value)
    }
    if (method === 'GET' || method === 'HEAD') return new Request(address + path, { method, headers: given })
    return new Request(address + path, {
      method,
      headers: given,
      body: bodyOf(incoming),
      duplex: 'half',
    } as RequestInit)
  } catch {
    return undefined
  }
}

/** A parser of the framework may have read the body. */
function bodyOf(incoming: IncomingMessage & { readonly body?: unknown }): RequestInit['body'] | null {
  const { body } = incoming
  if (incoming.readableEnded && body !== undefined) return JSON.stringify(body)
  return Readable.toWeb(incoming)
}

export interface ServeDashboardOptions extends DashboardOptions {
  /** 0: any that is free. @defaultValue 9465 */
  readonly port?: number | undefined
  /** Any other address than that of this machine needs `auth`. @defaultValue 127.0.0.1 */
  readonly host?: string | undefined
}

export interface ServedDashboard {
  /** `http://127.0.0.1:9465/` */
  readonly url: string
  readonly port: number
  /** Ends open connections and the work of its jobs: a replay is paused. Idempotent. */
  close(): Promise<void>
}

const SERVE: Table<ServeDashboardOptions, WithoutDefault> = {
  ...DASHBOARD,
  port: or(9465, whole({ least: 0, most: 65_535 })),
  host: or('127.0.0.1', matching('an address', /./)),
}
const REQUEST_TIMEOUT_MS = 30_000

/**
 * Serves a dashboard on `node:http`.
 *
 * @throws ConfigError `CONFIG_INVALID`: wrong options, or an address that others reach, without `auth`
 * @throws Error of `node:net` if the port is taken
 */
export async function serveDashboard(options: ServeDashboardOptions): Promise<ServedDashboard> {
  const { port, host, ...rest } = optionsOf('serveDashboard', SERVE, options, (all, problems) => {
    problemsOfDashboard(all, problems)
    if (all.auth === undefined && !isLoopbackName(all.host)) {
      problems.push(
        `host: expected \`auth\` for ${all.host}, which others reach: without it only 127.0.0.1, ::1 or localhost`,
      )
    }
  })
  const board = dashboardFor(rest)
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, dashboardListener(board))
  await listening(server, port, host)
  const { port: actual } = server.address() as AddressInfo
  const name = host.includes(':') ? `[${host}]` : host
  const { basePath } = rest
  let closed: Promise<void> | undefined
  return {
    url: `http://${name}:${actual}${basePath.endsWith('/') ? basePath : `${basePath}/`}`,
    port: actual,
    close: () => {
      closed ??= closeAll(server, board)
      return closed
    },
  }
}

function listening(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

async function closeAll(server: Server, board: Dashboard): Promise<void> {
  const ended = new Promise<void>((resolve) => void server.close(() => resolve()))
  server.closeAllConnections()
  await Promise.all([ended, board.close()])
}

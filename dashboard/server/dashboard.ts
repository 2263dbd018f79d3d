import { optionsOf } from '../../src/foundation/options.ts'
import { Attempts } from './attempts.ts'
import { assetsIn, type Assets } from './assets.ts'
import { Cached } from './cached.ts'
import { Consumers } from './consumers.ts'
import { Guard } from './guard.ts'
import { apiErrorOf, HttpError } from './http-error.ts'
import { Jobs } from './jobs.ts'
import { LiveSources } from './live-sources.ts'
import {
  DASHBOARD,
  problemsOfDashboard,
  type CheckedDashboard,
  type DashboardOptions,
  type Principal,
} from './options.ts'
import { Params } from './params.ts'
import { Previews } from './previews.ts'
import { RateLimit } from './rate-limit.ts'
import { ROUTES, type Route } from './routes.ts'
import { withSecurity } from './security-headers.ts'
import type { Services } from './services.ts'
import { answerWithin } from './answer-within.ts'

export interface Dashboard {
  /**
   * Answers a request, as Hono, Bun, Deno and `serveDashboard` send them; `dashboardListener` is for Express, Fastify and Nest. It never
   * rejects: a store that is down is an answer with status 503.
   *
   * @param client - who is limited: an address. @defaultValue the name that `auth` gave
   */
  fetch(request: Request, client?: string): Promise<Response>
  /** Ends the work of its jobs: a replay is paused, and can be resumed. Nothing that the user opened is closed. */
  close(): Promise<void>
}

const COUNTS_FOR_MS = 5_000
const GROUPS_FOR_MS = 10_000
const DOCTOR_FOR_MS = 30_000
/** A page that is open asks a few times in a second, at most. */
const RATE = { burst: 300, perSecond: 20, atOnce: 8, waiting: 64 } as const

/**
 * The dashboard as a function from requests to answers. It opens and closes neither stores nor brokers.
 *
 * @throws ConfigError `CONFIG_INVALID`, with all problems at once
 */
export function dashboard(options: DashboardOptions): Dashboard {
  return dashboardFor(optionsOf('dashboard', DASHBOARD, options, problemsOfDashboard))
}

export function dashboardFor(options: CheckedDashboard): Dashboard {
  return new Handler(options)
}

class Handler implements Dashboard {
  readonly #services: Services
  readonly #attempts: Attempts
  readonly #guard: Guard
  readonly #assets: Assets
  readonly #rate: RateLimit
  /** With a slash at its end. */
  readonly #base: string

  constructor(options: CheckedDashboard) {
    const { clock, timeoutMs, basePath, auth, hosts, readOnly, pages } = options
    this.#base = basePath.endsWith('/') ? basePath : `${basePath}/`
    this.#attempts = new Attempts({ clock, log: options.log })
    this.#guard = new Guard({ auth, hosts, readOnly, attempts: this.#attempts })
    this.#assets = assetsIn(pages, this.#base)
    this.#rate = new RateLimit(RATE, clock)
    this.#services = {
      options,
      consumers: new Consumers(options.consumers, options),
      live: new LiveSources(options, clock),
      jobs: new Jobs(clock),
      previews: new Previews(clock),
      clock,
      timeoutMs,
      counts: new Cached(COUNTS_FOR_MS, clock),
      countedAt: new Map(),
      payloadsSeen: new Map(),
      groups: new Cached(GROUPS_FOR_MS, clock),
      lists: new Cached(0, clock),
      outboxes: new Cached(COUNTS_FOR_MS, clock),
      doctors: new Cached(DOCTOR_FOR_MS, clock),
      csrfToken: (by) => this.#guard.csrfToken(by),
      asking: (work) => this.#rate.run(() => answerWithin(timeoutMs, work())),
    }
  }

  async fetch(request: Request, client?: string): Promise<Response> {
    try {
      return withSecurity(await this.#answer(request, client))
    } catch (error) {
      return withSecurity(errorResponse(error))
    }
  }

  close(): Promise<void> {
    this.#attempts.close()
    return this.#services.jobs.close()
  }

  async #answer(request: Request, client: string | undefined): Promise<Response> {
    this.#guard.checkHost(request)
    const url = new URL(request.url)
    if (`${url.pathname}/` === this.#base) return new Response(null, { status: 308, headers: { location: this.#base } })
    if (!url.pathname.startsWith(this.#base)) throw notFound()
    const path = url.pathname.slice(this.#base.length)
    const principal = await this.#guard.principal(request, client)
    if (principal instanceof Response) return principal
    const who: Required<Principal> = { by: principal.by, readOnly: principal.readOnly ?? false }
    if (path.startsWith('api/')) return this.#api(request, { path, query: url.searchParams }, who, client ?? who.by)
    if (request.method !== 'GET' && request.method !== 'HEAD') throw notAllowed('GET, HEAD')
    return this.#assets.answer(path, request) ?? errorResponse(notFound())
  }

  async #api(
    request: Request,
    { path, query }: { readonly path: string; readonly query: URLSearchParams },
    principal: Required<Principal>,
    client: string,
  ): Promise<Response> {
    const method = request.method === 'HEAD' ? 'GET' : request.method
    const route: Route | undefined = ROUTES.get(`${method} ${path}`)
    if (route === undefined) {
      const others = ['GET', 'POST'].filter((other) => ROUTES.has(`${other} ${path}`))
      throw others.length > 0 ? notAllowed(others.join(', ')) : notFound()
    }
    if (route.changes && principal.readOnly) {
      throw new HttpError(405, 'HTTP_READ_ONLY', 'the dashboard is read-only: nothing can be changed here')
    }
    this.#guard.checkSite(request)
    if (method === 'POST') this.#guard.checkWrite(request, principal)
    this.#rate.take(client, route.cost)
    const params = method === 'POST' ? await Params.ofBody(request) : Params.ofQuery(query)
    params.checkNames(route.fields)
    const answer = await route.run(this.#services, { params, principal })
    if (answer instanceof Response) return answer
    return request.method === 'HEAD' ? json(200, undefined) : json(200, answer)
  }
}

function json(status: number, body: unknown): Response {
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  return new Response(body === undefined ? null : JSON.stringify(body), { status, headers })
}

function errorResponse(error: unknown): Response {
  const told = apiErrorOf(error)
  const response = json(told.status, { error: told })
  if (told.retryAfterMs !== undefined) {
    response.headers.set('retry-after', String(Math.ceil(told.retryAfterMs / 1_000)))
  }
  if (told.status === 405)
    response.headers.set('allow', told.code === 'HTTP_READ_ONLY' ? 'GET, HEAD' : 'GET, HEAD, POST')
  return response
}

function notFound(): HttpError {
  return new HttpError(404, 'HTTP_NOT_FOUND', 'not there')
}

function notAllowed(methods: string): HttpError {
  return new HttpError(405, 'HTTP_METHOD', `expected ${methods}`)
}

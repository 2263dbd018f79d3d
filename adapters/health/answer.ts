import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Health } from '../../src/internal.ts'

/** The part of a prom-client registry that is used. */
export interface Metrics {
  readonly contentType: string
  metrics(): string | Promise<string>
}

/** The part of `liveSignals()` that is used. */
export interface Snapshots {
  snapshot(query?: { readonly key?: string | undefined }): object
}

interface Served {
  readonly watched: readonly { health(): Health }[]
  readonly metrics: Metrics | undefined
  readonly live: Snapshots | undefined
}

interface Answer {
  readonly status: number
  readonly type: string
  readonly body: string
}

const JSON_TYPE = 'application/json; charset=utf-8'
const TEXT_TYPE = 'text/plain; charset=utf-8'

/** Never rejects. */
export async function answerTo(request: IncomingMessage, response: ServerResponse, served: Served): Promise<void> {
  const { method = 'GET', url = '/' } = request
  request.resume()
  const { status, type, body } = await answer(method, url, served)
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...(status === 405 ? { allow: 'GET, HEAD' } : {}),
  })
  response.end(method === 'HEAD' ? undefined : body)
}

async function answer(method: string, url: string, { watched, metrics, live }: Served): Promise<Answer> {
  if (method !== 'GET' && method !== 'HEAD') return text(405, 'only GET and HEAD are answered')
  const [path = '', query] = url.split('?', 2)
  switch (path) {
    case '/healthz':
      return health(watched, 'live')
    case '/readyz':
      return health(watched, 'ready')
    case '/metrics':
      return metrics === undefined ? text(404, 'serveHealth was given no `metrics`') : scrape(metrics)
    case '/live.json':
      return live === undefined
        ? text(404, 'serveHealth was given no `live`')
        : json(200, live.snapshot({ key: keyIn(query) }))
    default:
      return text(404, 'expected /healthz, /readyz, /metrics or /live.json')
  }
}

/** What the dashboard asks about one message. */
function keyIn(query: string | undefined): string | undefined {
  return new URLSearchParams(query).get('key') ?? undefined
}

function health(watched: Served['watched'], which: 'live' | 'ready'): Answer {
  const consumers = watched.map((one) => one.health())
  const isGood = consumers.every((one) => one[which])
  return json(isGood ? 200 : 503, {
    [which]: isGood,
    consumers: consumers.map(({ consumer, live, ready, state, checks }) => ({ consumer, live, ready, state, checks })),
  })
}

async function scrape(metrics: Metrics): Promise<Answer> {
  try {
    return { status: 200, type: metrics.contentType, body: await metrics.metrics() }
  } catch (error) {
    return text(500, `the metrics could not be collected: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function json(status: number, value: object): Answer {
  return { status, type: JSON_TYPE, body: `${JSON.stringify(value)}\n` }
}

function text(status: number, body: string): Answer {
  return { status, type: TEXT_TYPE, body: `${body}\n` }
}

import type { Api, ApiError, SessionInfo } from '../api.ts'

type Gets = Extract<keyof Api, `GET ${string}`>
type Posts = Extract<keyof Api, `POST ${string}`>
type PathOf<M extends string> = M extends `${string} ${infer Path}` ? Path : never

export type GetPath = PathOf<Gets>
export type PostPath = PathOf<Posts>
export type Query<P extends GetPath> = Api[`GET ${P}`]['query']
export type Answer<P extends GetPath> = Api[`GET ${P}`]['answer']
export type Body<P extends PostPath> = Api[`POST ${P}`] extends { readonly body: infer B } ? B : never
export type PostAnswer<P extends PostPath> = Api[`POST ${P}`]['answer']

/** A request was not answered as asked. `status` 0: the dashboard's own server did not answer. */
export class Failure extends Error {
  readonly status: number
  readonly code: string
  readonly retryAfterMs: number | undefined

  constructor(status: number, { code, message, retryAfterMs }: ApiError['error'] | Omit<ApiError['error'], 'status'>) {
    super(message)
    this.status = status
    this.code = code
    this.retryAfterMs = retryAfterMs
  }

  /** The same request may be answered later: nothing is wrong with it. */
  get heals(): boolean {
    return this.status === 0 || this.status === 503 || this.status === 429
  }
}

const HEADERS = { accept: 'application/json' }

let csrfToken = ''

export async function get<P extends GetPath>(path: P, query: Query<P>, signal?: AbortSignal): Promise<Answer<P>> {
  return (await request(address(path, query), signal === undefined ? {} : { signal })) as Answer<P>
}

export async function session(signal?: AbortSignal): Promise<SessionInfo> {
  const answer = await get('api/session', {}, signal)
  csrfToken = answer.csrfToken
  return answer
}

export async function post<P extends PostPath>(path: P, body: Body<P>): Promise<PostAnswer<P>> {
  try {
    return (await send(path, body)) as PostAnswer<P>
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'HTTP_CSRF') throw error
    // The server was restarted, and has other tokens now.
    await session()
    return (await send(path, body)) as PostAnswer<P>
  }
}

function send(path: string, body: unknown): Promise<unknown> {
  return request(path, {
    method: 'POST',
    body: JSON.stringify(body),
  })
}

export function address(path: string, query: object): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const words = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return words === '' ? path : `${path}?${words}`
}

const MOST_TRIES = 10

/** What the dashboard has no room for (429) has not begun: it is asked for again when there is room. */
export async function whenThereIsRoom<T>(ask: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (let tries = 1; ; tries++) {
    signal?.throwIfAborted()
    try {
      return await ask()
    } catch (error) {
      const retryAfterMs = error instanceof Failure && error.status === 429 ? error.retryAfterMs : undefined
      if (retryAfterMs === undefined || tries === MOST_TRIES) throw error
      await new Promise((resolve) => setTimeout(resolve, retryAfterMs))
    }
  }
}

async function request(path: string, init: RequestInit): Promise<unknown> {
  const response = await fetched(path, init)
  const answer: unknown = await response.json().catch(() => undefined)
  if (answer !== undefined) return answer
  throw failureOf(response, undefined)
}

/** A file, which is no JSON. */
export async function file<P extends GetPath>(path: P, query: Query<P>): Promise<Response> {
  return fetched(address(path, query), {})
}

/** @throws Failure */
async function fetched(path: string, init: RequestInit): Promise<Response> {
  let response: Response
  try {
    response = await fetch(path, {
      ...init,
      credentials: 'same-origin',
      headers: {
        ...HEADERS,
        ...(init.method === 'POST' ? { 'content-type': 'application/json', 'x-consume-once-csrf': csrfToken } : {}),
      },
    })
  } catch (error) {
    if (init.signal?.aborted === true) throw error
    throw new Failure(0, { code: 'HTTP_NO_ANSWER', message: 'The server of this dashboard does not answer.' })
  }
  if (response.ok) return response
  throw failureOf(response, await response.json().catch(() => undefined))
}

function failureOf({ status }: Response, answer: unknown): Failure {
  return new Failure(status, errorOf(answer) ?? { code: `HTTP_${status}`, message: `The server answered ${status}.` })
}

function errorOf(answer: unknown): ApiError['error'] | undefined {
  return (answer as Partial<ApiError> | undefined)?.error
}

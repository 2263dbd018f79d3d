import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Api, ApiError, SessionInfo } from '../../dashboard/api.ts'
import type { Dashboard } from '../../dashboard/server/index.ts'
import { newFolder } from './servers/private-instance.ts'

/** A folder with built pages, and a file next to it that must not be served. */
export function pagesFolder(): string {
  const folder = join(newFolder('pages'), 'ui')
  mkdirSync(folder)
  writeFileSync(join(folder, '../secret.txt'), 'secret')
  writeFileSync(join(folder, '../secret.js'), 'secret')
  writeFileSync(
    join(folder, 'index.html'),
    '<!doctype html><base href="%CONSUME_ONCE_BASE%" /><script type="module" src="app-0123456789.js"></script>',
  )
  writeFileSync(join(folder, 'app-0123456789.js'), 'document.title = "there"')
  return folder
}

type Gets = { [Name in keyof Api]: Name extends `GET ${string}` ? Name : never }[keyof Api]
type Posts = { [Name in keyof Api]: Name extends `POST ${string}` ? Name : never }[keyof Api]
type QueryOf<Name extends Gets> = Api[Name] extends { readonly query: infer Query } ? Query : never
type BodyOf<Name extends Posts> = Api[Name] extends { readonly body: infer Body } ? Body : never

export interface Told<T> {
  readonly status: number
  readonly headers: Headers
  /** Body of an answer with status 200. */
  readonly answer: T
  readonly error: ApiError['error']
}

/** A page that knows the address of the dashboard. */
export class Page {
  readonly #fetch: (request: Request) => Promise<Response>
  readonly #origin: string
  readonly #base: string
  readonly #headers: Readonly<Record<string, string>>

  constructor(
    board: Pick<Dashboard, 'fetch'> | string,
    { base = '/', headers = {} }: { readonly base?: string; readonly headers?: Readonly<Record<string, string>> } = {},
  ) {
    this.#origin = typeof board === 'string' ? new URL(board).origin : 'http://localhost:9465'
    this.#base = typeof board === 'string' ? new URL(board).pathname : base
    this.#fetch = typeof board === 'string' ? (request) => fetch(request) : (request) => board.fetch(request)
    this.#headers = headers
  }

  raw(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { ...this.#headers, ...(init.headers as Readonly<Record<string, string>> | undefined) }
    return this.#fetch(new Request(`${this.#origin}${this.#base}${path}`, { ...init, headers }))
  }

  async get<Name extends Gets>(name: Name, query: QueryOf<Name>): Promise<Told<Api[Name]['answer']>> {
    const given = Object.entries(query as object).map(([field, value]): [string, string] => [field, String(value)])
    return toldOf(await this.raw(`${name.slice(4)}?${new URLSearchParams(given).toString()}`))
  }

  /** @param init - headers that replace those of an honest page */
  async post<Name extends Posts>(
    name: Name,
    body: BodyOf<Name>,
    init: { readonly headers?: Readonly<Record<string, string>> } = {},
  ): Promise<Told<Api[Name]['answer']>> {
    const session = await this.get('GET api/session', {})
    const honest = {
      'content-type': 'application/json',
      'x-consume-once-csrf': (session.answer as SessionInfo | undefined)?.csrfToken ?? '',
      origin: this.#origin,
    }
    const headers = { ...honest, ...init.headers }
    return toldOf(await this.raw(name.slice(5), { method: 'POST', body: JSON.stringify(body), headers }))
  }
}

async function toldOf<T>(response: Response): Promise<Told<T>> {
  const { status, headers } = response
  const text = await response.text()
  const isJson = headers.get('content-type')?.startsWith('application/json') === true && text !== ''
  const body: unknown = isJson ? JSON.parse(text) : undefined
  return { status, headers, answer: body as T, error: (body as ApiError | undefined)?.error as ApiError['error'] }
}

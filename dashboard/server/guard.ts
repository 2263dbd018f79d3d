import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { osUser } from '../../src/people/os-user.ts'
import { HttpError } from './http-error.ts'
import { isLoopbackName } from './loopback.ts'
import type { Attempts } from './attempts.ts'
import type { Auth, Principal } from './options.ts'

const CSRF_HEADER = 'x-consume-once-csrf'

export interface GuardOptions {
  readonly auth: Auth | undefined
  readonly hosts: readonly string[] | undefined
  readonly readOnly: boolean
  readonly attempts: Attempts
}

/** Who may send which request. There are no sessions and no cookies: each request shows its credentials. */
export class Guard {
  readonly #options: GuardOptions
  readonly #secret: Buffer = randomBytes(32)

  constructor(options: GuardOptions) {
    this.#options = options
  }

  /**
   * A page of a stranger can point its own name at this address (DNS rebinding); the browser then lets it read the answers. So the name
   * must be known: without `auth` it is a name of this machine.
   *
   * @throws HttpError 403
   */
  checkHost(request: Request): void {
    const host = hostOf(request)
    const { auth, hosts } = this.#options
    if (hosts === undefined ? auth !== undefined || isLoopbackName(nameOf(host)) : isIn(hosts, host)) return
    throw new HttpError(
      403,
      'HTTP_HOST',
      `the host ${JSON.stringify(host)} is not allowed: ${auth === undefined ? 'without `auth` the dashboard answers only to localhost' : 'add it to `hosts`'}`,
    )
  }

  /** @throws HttpError 401; 429 after many wrong credentials; or what `auth` answers as a Response */
  async principal(request: Request, client: string | undefined): Promise<Principal | Response> {
    const { auth, readOnly, attempts } = this.#options
    if (auth === undefined) return { by: osUser(), readOnly }
    const credentials = request.headers.get('authorization')
    const attempt = credentials === null ? undefined : attempts.begin(client, credentials)
    let answer: Awaited<ReturnType<Auth>>
    try {
      answer = await auth(request, { client })
    } catch (error) {
      attempt?.unknown()
      throw error
    }
    if (isRefusal(answer)) attempt?.wrong()
    else attempt?.right()
    if (answer instanceof Response) return answer
    if (answer === undefined || answer === null || typeof answer.by !== 'string' || answer.by.trim() === '') {
      throw new HttpError(401, 'HTTP_UNAUTHORIZED', 'no credentials, or wrong ones')
    }
    return { by: answer.by.slice(0, 200), readOnly: readOnly || answer.readOnly === true }
  }

  /** Other sites may make a browser send requests, with its credentials. @throws HttpError 403 */
  checkSite(request: Request): void {
    const site = request.headers.get('sec-fetch-site')
    if (site !== null && site !== 'same-origin' && site !== 'none') throw crossSite()
    const origin = request.headers.get('origin')
    if (origin === null) return
    const host = URL.canParse(origin) ? new URL(origin).host : ''
    if (host === '' || (host !== hostOf(request) && !isIn(this.#options.hosts ?? [], host))) throw crossSite()
  }

  /** @throws HttpError 403, 415 */
  checkWrite(request: Request, { by }: Principal): void {
    const type = request.headers.get('content-type') ?? ''
    if (!/^application\/json\s*(;|$)/i.test(type)) {
      throw new HttpError(415, 'HTTP_CONTENT_TYPE', 'expected content-type application/json')
    }
    if (isEqual(request.headers.get(CSRF_HEADER) ?? '', this.csrfToken(by))) return
    throw new HttpError(
      403,
      'HTTP_CSRF',
      `expected the token of api/session in the header ${CSRF_HEADER}: load the page again`,
    )
  }

  /** Belongs to a person and this process; nobody else can read it, because answers have no CORS headers. */
  csrfToken(by: string): string {
    return createHmac('sha256', this.#secret).update(by).digest('base64url')
  }
}

function isRefusal(answer: Awaited<ReturnType<Auth>>): boolean {
  if (answer instanceof Response) return answer.status === 401
  return typeof answer?.by !== 'string' || answer.by.trim() === ''
}

function crossSite(): HttpError {
  return new HttpError(403, 'HTTP_ORIGIN', 'refused: the request comes from another site')
}

function hostOf(request: Request): string {
  return (request.headers.get('host') ?? new URL(request.url).host).toLowerCase()
}

/** Without the port. */
function nameOf(host: string): string {
  return host.replace(/:\d+$/, '')
}

/** @param allowed - with a port: this one; without: any */
function isIn(allowed: readonly string[], host: string): boolean {
  return allowed.some((one) => one.toLowerCase() === host || one.toLowerCase() === nameOf(host))
}

export function isEqual(given: string, expected: string): boolean {
  const [a, b] = [given, expected].map((text) => createHmac('sha256', 'compared').update(text).digest())
  return a !== undefined && b !== undefined && timingSafeEqual(a, b)
}

import {
  checkFunction,
  checkNames,
  checkOnce,
  checkOneOf,
  checkWhole,
  ConfigError,
  givenOf,
  type InboxStore,
  type LeaseStore,
  type OnceContext,
  type OnceOptions,
} from '../../src/spi.ts'

/** The claim under which a request is handled: `idempotencyKey`, `attempt`, `signal`, and `tx` or `fence`. */
export type IdempotencyContext<Tx = never> = OnceContext<Tx>

/** `Request` is the request of the framework. Declare it: `caller: (request: ExpressRequest) => …`. */
export interface IdempotencyOptions<Request, Tx = never> extends Pick<
  OnceOptions,
  | 'whenBusy'
  | 'waitMs'
  | 'leaseMs'
  | 'retentionMs'
  | 'handlerTimeoutMs'
  | 'graceMs'
  | 'sealResult'
  | 'purge'
  | 'clock'
  | 'entropy'
> {
  /** A lease store, or an inbox store whose `tx` the handler uses. */
  readonly store: LeaseStore | InboxStore<Tx>
  /**
   * The authenticated caller, as text of at most 200 bytes: an account ID, not a session. Keys of two callers never meet,
   * so nobody gets the response of another. `undefined` answers 401. For a public endpoint return one text for all;
   * then anybody who guesses a key gets its response.
   */
  readonly caller: (request: Request) => string | undefined | Promise<string | undefined>
  /** Stands before caller and key. @defaultValue `http` */
  readonly scope?: string
  /** The methods that need a key. Requests of other methods pass. @defaultValue `POST`, `PATCH` */
  readonly methods?: readonly string[]
  /** `true`: a request without a key is answered 400. `false`: it passes, unprotected. @defaultValue true */
  readonly required?: boolean
  /**
   * What counts as the same body, as text or bytes: two requests with one key and one fingerprint are the same request,
   * if method, path and query are equal too. For bodies that are not seen here, such as uploads: return a digest of
   * their parts. `maxBodyBytes` is not checked then. A result that is neither text nor bytes fails the request.
   * @defaultValue the body, as it was sent or parsed; a request whose body is not seen is answered 415
   * `BODY_NOT_COMPARABLE`
   */
  readonly fingerprint?: (request: Request) => string | Uint8Array | Promise<string | Uint8Array>
  /**
   * Which responses are kept and replayed. Any other frees the key for the same request: the next one with this method,
   * path, query and body runs, and another one is answered 422. Return false only for a response that says that nothing
   * happened. @defaultValue `({ status }) => status < 400`
   */
  readonly remember?: (response: { readonly status: number }) => boolean | Promise<boolean>
  /** Headers of a response that are kept too. Those of cookies, authentication and connections are refused. @defaultValue none */
  readonly keepHeaders?: readonly string[]
  /** The largest request body, in bytes. A larger one is answered 413. @defaultValue 1048576 */
  readonly maxBodyBytes?: number
  /**
   * The largest response body that is kept, in bytes, at most 524288. A larger one is held in memory until its handler
   * has ended, and reaches its first caller; a repetition is answered 409 `RESPONSE_NOT_KEPT`. @defaultValue 65536
   */
  readonly maxResponseBytes?: number
  /** Decides about a request whose earlier run has no known end. Lease stores only. @defaultValue `rerun` */
  readonly onInDoubt?: 'rerun' | 'park'
}

/** The options, complete and checked. */
export interface IdempotencySettings<Request> {
  readonly store: InboxStore<never>
  readonly caller: (request: Request) => unknown
  readonly methods: ReadonlySet<string>
  readonly required: boolean
  readonly fingerprint: ((request: Request) => unknown) | undefined
  readonly remember: (response: { readonly status: number }) => boolean | Promise<boolean>
  readonly headers: ReadonlySet<string>
  readonly maxBodyBytes: number
  readonly maxResponseBytes: number
  readonly once: OnceOptions
}

const KNOWN: Record<keyof IdempotencyOptions<never>, true> = {
  store: true,
  caller: true,
  scope: true,
  methods: true,
  required: true,
  fingerprint: true,
  remember: true,
  keepHeaders: true,
  maxBodyBytes: true,
  maxResponseBytes: true,
  onInDoubt: true,
  whenBusy: true,
  waitMs: true,
  leaseMs: true,
  retentionMs: true,
  handlerTimeoutMs: true,
  graceMs: true,
  sealResult: true,
  purge: true,
  clock: true,
  entropy: true,
}

/** Headers about the body, which belong to it wherever it is sent. */
const SAFE = [
  'content-type',
  'content-language',
  'content-encoding',
  'content-disposition',
  'location',
  'etag',
  'last-modified',
  'link',
  'vary',
]
/** Headers of one connection (RFC 9110, 7.6.1), of one user, or computed anew. */
const NEVER =
  /^(?:set-cookie2?|authorization|(?:www|proxy)-.*|authentication-info|connection|keep-alive|te|trailer|transfer-encoding|upgrade|content-length|date)$/

const DAY_MS = 86_400_000
const LARGEST_RESPONSE = 512 * 1024
const LARGEST_KEPT = 1024 * 1024

/** @throws ConfigError `CONFIG_INVALID`, with all problems at once */
export function settingsOf<Request, Tx>(options: IdempotencyOptions<Request, Tx>): IdempotencySettings<Request> {
  const given = givenOf(options)
  const {
    store,
    caller,
    methods = ['POST', 'PATCH'],
    required = true,
    fingerprint,
    remember = ({ status }) => status < 400,
    keepHeaders = [],
    maxBodyBytes = 1024 * 1024,
    maxResponseBytes = 64 * 1024,
    ...rest
  } = given
  const problems: string[] = []
  const renamed = { timeoutMs: 'it is now called handlerTimeoutMs' }
  checkNames('', given, { of: 'idempotency()', known: KNOWN, misplaced: renamed }, problems)
  const once = {
    scope: 'http',
    whenBusy: 'refuse',
    retentionMs: DAY_MS,
    maxResultBytes: LARGEST_KEPT,
    ...rest,
  } as const
  checkOnce(store as InboxStore<never>, once, problems)
  checkFunction('caller', caller, problems)
  checkFunction('remember', remember, problems)
  if (fingerprint !== undefined) checkFunction('fingerprint', fingerprint, problems)
  checkWhole('maxBodyBytes', maxBodyBytes, problems)
  checkWhole('maxResponseBytes', maxResponseBytes, problems, { most: LARGEST_RESPONSE })
  checkOneOf('required', required, [true, false], problems)
  checkTexts('methods', methods, problems)
  checkTexts('keepHeaders', keepHeaders, problems)
  for (const name of textsIn(keepHeaders)) {
    if (NEVER.test(name.toLowerCase())) {
      problems.push(`keepHeaders: expected headers that may be sent to the caller again, got ${name}`)
    }
  }
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `idempotency: ${problem}`))
  return {
    store: store as InboxStore<never>,
    caller,
    methods: new Set(methods.map((method) => method.toUpperCase())),
    required,
    fingerprint,
    remember,
    headers: new Set([...SAFE, ...keepHeaders.map((name) => name.toLowerCase())]),
    maxBodyBytes,
    maxResponseBytes,
    once,
  }
}

/** Untyped callers may pass a text, which would count as the list of its characters. */
function checkTexts(name: string, value: unknown, problems: string[]): void {
  if (Array.isArray(value) && textsIn(value).length === value.length) return
  problems.push(`${name}: expected a list of texts, got ${JSON.stringify(value)}`)
}

function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string' && one !== '') : []
}

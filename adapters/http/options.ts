import {
  CONSUMER,
  ELSEWHERE,
  flag,
  func,
  listOf,
  matching,
  needed,
  ONCE,
  oneOf,
  optionsOf,
  or,
  problemsOfOnce,
  where,
  whole,
  type InboxStore,
  type LeaseStore,
  type Needed,
  type OnceContext,
  type OnceOptions,
  type Rule,
  type Table,
  type DurationMs,
  nowCalled,
} from '../../src/internal.ts'

/** The claim under which a request is handled: `idempotencyKey`, `attempt`, `signal`, and `tx` or `fence`. */
export type IdempotencyContext<Tx = never> = OnceContext<Tx>

/** `Request` is the request of the framework. Declare it: `caller: (request: ExpressRequest) => …`. */
export interface IdempotencyOptions<Request, Tx = never> extends Pick<
  OnceOptions,
  'waitMs' | 'leaseMs' | 'handlerTimeoutMs' | 'graceMs' | 'sealResult' | 'purge' | 'clock' | 'entropy'
> {
  /**
   * What a request does while another one with its key is under way. `wait`: waits up to `waitMs` for its response.
   * `refuse`: is answered 409 with `Retry-After`.
   * @defaultValue `refuse`
   */
  readonly whenBusy?: 'wait' | 'refuse'
  /** How long a response is kept, in milliseconds. @defaultValue 1 day */
  readonly retentionMs?: DurationMs
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

const TEXT = matching('text', /./)

/** A header that may be sent to the caller again. */
const HEADER: Rule<string> = where(
  'a header that may be sent to the caller again',
  (name) => typeof name === 'string' && name !== '' && !NEVER.test(name.toLowerCase()),
)

type Options = IdempotencyOptions<never>

const IDEMPOTENCY: Table<Options, 'fingerprint' | 'sealResult'> = {
  store: CONSUMER.store as Needed<Options['store']>,
  caller: needed(func()),
  scope: or('http', ONCE.scope),
  methods: or(['POST', 'PATCH'], listOf(TEXT)),
  required: or(true, flag()),
  fingerprint: func(),
  remember: or(({ status }: { readonly status: number }) => status < 400, func()),
  keepHeaders: or([], listOf(HEADER)),
  maxBodyBytes: or(1024 * 1024, whole()),
  maxResponseBytes: or(64 * 1024, whole({ most: 512 * 1024 })),
  onInDoubt: or('rerun', oneOf('rerun', 'park')),
  whenBusy: or('refuse', ONCE.whenBusy),
  waitMs: ONCE.waitMs,
  leaseMs: ONCE.leaseMs,
  retentionMs: or(86_400_000, ONCE.retentionMs),
  handlerTimeoutMs: ONCE.handlerTimeoutMs,
  graceMs: ONCE.graceMs,
  sealResult: ONCE.sealResult,
  purge: ONCE.purge,
  clock: ONCE.clock,
  entropy: ONCE.entropy,
  [ELSEWHERE]: { timeoutMs: nowCalled('handlerTimeoutMs') },
}

/** @throws ConfigError `CONFIG_INVALID`, with all problems at once */
export function settingsOf<Request, Tx>(given: IdempotencyOptions<Request, Tx>): IdempotencySettings<Request> {
  const options = optionsOf('idempotency', IDEMPOTENCY, given as never, (all, problems) => {
    problemsOfOnce(all.store, given, all, problems)
  })
  const { store, methods, required, maxBodyBytes, maxResponseBytes, keepHeaders, ...rest } = options
  const { caller, fingerprint, remember, onInDoubt, ...once } = rest as typeof rest &
    Pick<IdempotencySettings<Request>, 'caller' | 'fingerprint' | 'remember'>
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
    // An inbox knows no doubt.
    once: { ...once, ...(given.onInDoubt && { onInDoubt }), maxResultBytes: 1024 * 1024 } as OnceOptions,
  }
}

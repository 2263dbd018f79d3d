import { CONSUMERS, MIGRATIONS, type ConfiguredConsumer } from '../../src/people/config.ts'
import {
  either,
  flag,
  func,
  having,
  judged,
  listOf,
  matching,
  millis,
  needed,
  object,
  or,
  plainText,
  where,
  type Complete,
  type Rule,
  type Table,
} from '../../src/foundation/options.ts'
import { shown } from '../../src/foundation/shown.ts'
import { clockOption } from '../../src/foundation/system-options.ts'
import type { Migrations } from '../../src/ports/migrations.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Logger } from '../../src/ports/logger.ts'
import type { LiveSignals } from '../../src/signals/live.ts'
import { isLoopbackName } from './loopback.ts'

/** Who sent a request. */
export interface Principal {
  /** For the audit: a name of 1 to 200 characters. */
  readonly by: string
  /** This person may not change anything, although others may. @defaultValue false */
  readonly readOnly?: boolean
}

/** Where a request comes from. */
export interface Sender {
  /** Its address, as `serveDashboard` and `dashboardListener` see it, or as `fetch` was told. Behind a proxy that of the proxy. */
  readonly client: string | undefined
}

/**
 * Says who sent a request; `undefined` refuses it with 401, a `Response` is sent as it is, such as a redirect to a login. Of refused
 * requests with the header `authorization` an address has 10, and one more each 5 s; further ones are answered 429 without a question.
 */
export type Auth = (
  request: Request,
  from: Sender,
) => Principal | Response | undefined | Promise<Principal | Response | undefined>

export interface DashboardOptions {
  /** The entries of `consume-once.config`: `{ consumer, subscription }`. */
  readonly consumers: readonly ConfiguredConsumer[]
  /** For the page with the settings. @defaultValue none */
  readonly migrations?: readonly Migrations[] | undefined
  /** The `liveSignals()` of the consumers that run in this process. @defaultValue none */
  readonly live?: (Pick<LiveSignals, 'snapshot'> & Partial<Pick<LiveSignals, 'controlsOf'>>) | undefined
  /** Addresses of processes with `serveHealth({ live })`, such as `http://10.0.0.7:9464`. `http://user:password@host` logs in. @defaultValue none */
  readonly instances?: readonly string[] | undefined
  /** The path under which it is mounted, such as `/ops/dashboard`. @defaultValue `/` */
  readonly basePath?: string | undefined
  /** @defaultValue nobody is asked; the dashboard then answers only requests to localhost */
  readonly auth?: Auth | undefined
  /** Names under which browsers reach it, with or without a port. @defaultValue with `auth` any, else localhost */
  readonly hosts?: readonly string[] | undefined
  /** Nothing can be changed: requests that would are answered with 405. @defaultValue true */
  readonly readOnly?: boolean | undefined
  /** A badge, so that nobody takes production for staging. `color`: `#b91c1c` or the name of a CSS color. @defaultValue none */
  readonly environment?:
    | {
        readonly name: string
        /** @defaultValue the color of the theme */
        readonly color?: string | undefined
      }
    | undefined
  /**
   * Payloads and headers of messages may be shown: of these consumers, by name, or of all. Who looked at which message is in the audit of the
   * consumer. @defaultValue false
   */
  readonly showPayload?: boolean | readonly string[] | undefined
  /**
   * With `showPayload`: names of fields and headers whose values are hidden, at any depth, or a function that returns the text to show.
   * With names, a payload that is not JSON is hidden as a whole. @defaultValue nothing is hidden
   */
  readonly redact?: readonly string[] | Redact | undefined
  /** Folder for the journals of replays that are started here. @defaultValue the current folder */
  readonly journals?: string | undefined
  /** How long a store or broker may take to answer, in milliseconds. @defaultValue 10000 */
  readonly timeoutMs?: number | undefined
  /** Folder with the built pages. @defaultValue that of this package; give it if you bundle your server */
  readonly pages?: string | undefined
  /** Gets a line for a burst of wrong credentials, with the addresses. @defaultValue none */
  readonly log?: Logger | undefined
  /** @defaultValue the system clock */
  readonly clock?: Clock | undefined
}

export type Redact = (text: string, where: RedactedPart) => string

export interface RedactedPart {
  readonly consumer: string
  readonly part: 'payload' | 'header'
  /** Name of the header. */
  readonly name?: string
}

export type WithoutDefault = 'live' | 'auth' | 'hosts' | 'environment' | 'redact' | 'pages' | 'log'

const ENVIRONMENT: Table<NonNullable<DashboardOptions['environment']>> = {
  name: needed(plainText()),
  color: or('', matching('#b91c1c or the name of a color', /^(#[\da-f]{3,8}|[a-z]{1,30})$/i)),
}

/** A name that matches nothing would hide nothing. */
const FIELD: Rule<string> = judged('the name of a field or header', (name) => {
  if (typeof name === 'string' && name !== '' && name === name.trim() && !/[,/]/.test(name)) return undefined
  return `expected the name of a field or header, such as to, got ${shown(name)}; a name holds at any depth`
})

export const DASHBOARD: Table<DashboardOptions, WithoutDefault> = {
  consumers: needed(CONSUMERS),
  migrations: or([], MIGRATIONS),
  live: having('what liveSignals() returned', 'snapshot'),
  instances: or(
    [],
    listOf(
      where(
        'an address such as http://host:9464',
        (url) => typeof url === 'string' && /^https?:\/\//i.test(url) && URL.canParse(url),
      ),
    ),
  ),
  basePath: or('/', matching('a path such as /ops/dashboard', /^\/([\w.~-]+\/?)*$/)),
  auth: func(),
  hosts: listOf(matching('a name such as ops.example.com', /./)),
  readOnly: or(true, flag()),
  environment: object(ENVIRONMENT),
  showPayload: or(false, either<readonly [boolean, readonly string[]]>(flag(), listOf(plainText()))),
  redact: either(func<Redact>(), listOf(FIELD)),
  journals: or('.', matching('a folder', /./)),
  timeoutMs: or(10_000, millis({ most: 120_000 })),
  pages: matching('a folder', /./),
  log: having('a logger such as pino()', 'warn'),
  clock: clockOption(),
}

export type CheckedDashboard = Complete<DashboardOptions, WithoutDefault>

export function problemsOfDashboard(options: CheckedDashboard, problems: string[]): void {
  problemsOfHosts(options, problems)
  const { showPayload, consumers } = options
  if (typeof showPayload === 'boolean' || problems.length > 0) return
  // A name that matches nothing would show nothing.
  const known = consumers.map(({ consumer }) => consumer.name)
  const unknown = showPayload.filter((name) => !known.includes(name))
  if (unknown.length > 0) {
    problems.push(
      `showPayload: expected names of consumers (${known.join(', ')}), got ${unknown.map(shown).join(', ')}`,
    )
  }
}

function problemsOfHosts({ hosts = [], auth }: Pick<CheckedDashboard, 'hosts' | 'auth'>, problems: string[]): void {
  const foreign = hosts.filter((host) => !isLoopbackName(host.toLowerCase().replace(/:\d+$/, '')))
  if (auth === undefined && foreign.length > 0) {
    problems.push(`hosts: expected \`auth\` for ${foreign.join(', ')}: without it only localhost is answered`)
  }
}

import { checkConsumers, type ConfiguredConsumer } from '../../src/people/config.ts'
import { ConfigError } from '../../src/foundation/errors.ts'
import {
  checkFunction,
  checkNames,
  checkOneOf,
  checkText,
  checkWhole,
  checkList,
  givenOf,
  shown,
} from '../../src/foundation/option-checks.ts'
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
  readonly environment?: { readonly name: string; readonly color?: string | undefined } | undefined
  /** Payloads and headers of messages may be shown. @defaultValue false */
  readonly showPayload?: boolean | undefined
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

const KNOWN: Record<keyof DashboardOptions, true> = {
  consumers: true,
  migrations: true,
  live: true,
  instances: true,
  basePath: true,
  auth: true,
  hosts: true,
  readOnly: true,
  environment: true,
  showPayload: true,
  redact: true,
  journals: true,
  timeoutMs: true,
  pages: true,
  log: true,
  clock: true,
}

const LONGEST_TIMEOUT_MS = 120_000

/** @throws ConfigError `CONFIG_INVALID`, with all problems at once */
export function checkOptions(options: DashboardOptions, of: string): void {
  const problems: string[] = []
  const given = givenOf(options)
  checkNames('', given, { of, known: KNOWN }, problems)
  const { consumers, live, instances = [], basePath = '/', auth, hosts, environment, redact } = given
  const { readOnly = true, showPayload = false, timeoutMs = 10_000 } = given
  checkConsumers(consumers, of, problems)
  checkList('migrations', given.migrations, problems)
  if (live !== undefined && typeof live?.snapshot !== 'function') {
    problems.push('live: expected what liveSignals() returned')
  }
  for (const url of Array.isArray(instances) ? instances : [instances]) {
    if (typeof url !== 'string' || !/^https?:\/\//i.test(url) || !URL.canParse(url)) {
      problems.push(`instances: expected addresses such as http://host:9464, got ${JSON.stringify(url)}`)
    }
  }
  if (typeof basePath !== 'string' || !/^\/([\w.~-]+\/?)*$/.test(basePath)) {
    problems.push(`basePath: expected a path such as /ops/dashboard, got ${JSON.stringify(basePath)}`)
  }
  if (auth !== undefined) checkFunction('auth', auth, problems)
  checkOneOf('readOnly', readOnly, [true, false], problems)
  checkOneOf('showPayload', showPayload, [true, false], problems)
  checkWhole('timeoutMs', timeoutMs, problems, { most: LONGEST_TIMEOUT_MS })
  if (environment !== undefined) {
    checkNames('environment.', givenOf(environment), { of, known: { name: true, color: true } }, problems)
    checkText('environment.name', environment?.name, problems)
    const { color = '#000' } = environment ?? {}
    if (typeof color !== 'string' || !/^(#[\da-f]{3,8}|[a-z]{1,30})$/i.test(color)) {
      problems.push(`environment.color: expected #b91c1c or the name of a color, got ${JSON.stringify(color)}`)
    }
  }
  if (given.log !== undefined && typeof given.log?.warn !== 'function') {
    problems.push('log: expected a logger such as pino()')
  }
  checkRedact(redact, problems)
  checkHosts(hosts, auth, problems)
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `dashboard: ${problem}`))
}

/** A name that matches nothing would hide nothing. */
function checkRedact(redact: DashboardOptions['redact'], problems: string[]): void {
  if (redact === undefined || typeof redact === 'function') return
  if (!Array.isArray(redact)) {
    problems.push('redact: expected names of fields, or a function')
    return
  }
  for (const name of redact as readonly unknown[]) {
    if (typeof name !== 'string' || name === '' || name !== name.trim() || /[,/]/.test(name)) {
      problems.push(
        `redact: expected the name of a field or header, such as to, got ${shown(name)}; a name holds at any depth`,
      )
    }
  }
}

function checkHosts(hosts: DashboardOptions['hosts'], auth: Auth | undefined, problems: string[]): void {
  if (hosts === undefined) return
  if (!Array.isArray(hosts) || hosts.some((host) => typeof host !== 'string' || host === '')) {
    problems.push('hosts: expected names such as ops.example.com')
    return
  }
  const foreign = hosts.filter((host) => !isLoopbackName(host.toLowerCase().replace(/:\d+$/, '')))
  if (auth === undefined && foreign.length > 0) {
    problems.push(`hosts: expected \`auth\` for ${foreign.join(', ')}: without it only localhost is answered`)
  }
}

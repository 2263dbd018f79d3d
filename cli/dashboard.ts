import { readFileSync } from 'node:fs'
import { Option, type Command } from 'commander'
import {
  basicAuth,
  serveDashboard,
  trustedHeader,
  type Auth,
  type BasicAuthUser,
  type ServeDashboardOptions,
} from '../dashboard/server/index.ts'
import { isLoopbackName } from '../dashboard/server/loopback.ts'
import { EXIT, misuse, refusal } from './exit.ts'
import { Interrupts } from './interrupts.ts'
import { printJson, printText, say } from './output.ts'
import { parseList, parsePort } from './parse.ts'
import { addSessionOptions, Session, type End, type SessionFlags } from './session.ts'

type DashboardFlags = SessionFlags & {
  readonly port: number
  readonly host: string
  readonly allowHost?: readonly string[]
  readonly basePath?: string
  readonly write: boolean
  readonly instance?: readonly string[]
  readonly environment?: string
  readonly color?: string
  readonly showPayload: boolean | readonly string[]
  readonly redact?: readonly string[]
  readonly journals?: string
  readonly userHeader?: string
  readonly proxy?: readonly string[]
  readonly pages?: string
}

const PORT = 9465
const USER = 'CONSUME_ONCE_DASHBOARD_USER'
const PASSWORD = 'CONSUME_ONCE_DASHBOARD_PASSWORD'
const USERS_FILE = 'CONSUME_ONCE_DASHBOARD_USERS_FILE'
/** A page must not wait as long as a script may. */
const LONGEST_WAIT_MS = 10_000

const HELP = `
Examples:
  consume-once dashboard                                                  what is there, on this machine
  consume-once dashboard --instance http://10.0.0.7:9464                  with what live consumers do: they serve /live.json
  consume-once dashboard --write --environment staging                    decisions and replays too
  ${USER}=ops ${PASSWORD}=... consume-once dashboard --host 0.0.0.0
  ${USERS_FILE}=users.txt consume-once dashboard --host 0.0.0.0      a line user:password for each person
  consume-once dashboard --host 0.0.0.0 --user-header x-forwarded-user --proxy 10.0.0.2

Any other address than that of this machine needs one of these: both variables, ${USER} and ${PASSWORD};
${USERS_FILE}; or --user-header with --proxy. Use TLS in front of it. The audit names the user.
--user-header: the proxy must remove this header from what it gets, and set it itself; else anybody chooses a name.
Runs until Ctrl-C. A replay that runs then is paused, and can be resumed.
Exit code 0: ended by Ctrl-C. 2: usage, or the port is taken. 3: refused: others reach the address, and there are no credentials.`

export function addDashboard(program: Command, end: End): void {
  const command = program
    .command('dashboard')
    .description('Serves pages that show consumers, messages and replays. Changes nothing unless you say --write.')
    .option('--port <port>', '0: any that is free', parsePort, PORT)
    .option('--host <address>', 'where it listens', '127.0.0.1')
    .option(
      '--allow-host <names...>',
      'names under which browsers reach it (default: with credentials any, else localhost)',
      parseList,
    )
    .option('--base-path <path>', 'under a proxy: the path before its pages, such as /ops')
    .option('--write', 'people may decide about messages, redrive and replay', false)
    .option('--instance <urls...>', 'addresses of live consumers with serveHealth({ live })', parseList)
    .option('--environment <name>', 'a badge on every page, such as production')
    .option('--color <color>', 'of the badge, such as #b91c1c')
    .option(
      '--show-payload [consumers...]',
      'payloads and headers may be shown, of these consumers (default: all); the audit has who saw which',
      shownOf,
      false,
    )
    .option('--redact <fields...>', 'fields and headers that are hidden all the same', parseList)
    .option('--user-header <name>', 'persons as a proxy names them; it must remove this header from what it gets')
    .option('--proxy <addresses...>', 'with --user-header: addresses or networks of the proxies', parseList)
    .option('--journals <folder>', 'where replays write what became of each message (default: here)')
    .addOption(new Option('--pages <folder>', 'the built pages').hideHelp())
  addSessionOptions(command)
    .addHelpText('after', HELP)
    .action(async (flags: DashboardFlags) => {
      const auth = authOf(process.env, flags)
      refuseOpenDoor(flags.host, auth)
      end(await Session.run(flags, (session) => serve(session, flags, auth)))
    })
}

/** Commander gives what was there before: `false`, or the names so far. */
function shownOf(text: string, before: boolean | readonly string[]): boolean | readonly string[] {
  return parseList(text, typeof before === 'boolean' ? [] : before)
}

/** `undefined`: nobody is asked. */
function authOf(env: NodeJS.ProcessEnv, { userHeader, proxy }: DashboardFlags): Auth | undefined {
  const { [USER]: user = '', [PASSWORD]: password = '', [USERS_FILE]: file = '' } = env
  if ((userHeader === undefined) !== (proxy === undefined)) {
    throw refusal('expected --user-header and --proxy together, or none')
  }
  if ((user === '') !== (password === '')) {
    const [given, missing] = user === '' ? [PASSWORD, USER] : [USER, PASSWORD]
    throw refusal(`${given} is set and ${missing} is not: set both, or none`)
  }
  const ways = [
    ...(user === '' ? [] : [() => basicAuth({ user, password })]),
    ...(file === '' ? [] : [() => basicAuth({ users: usersIn(file) })]),
    ...(userHeader === undefined ? [] : [() => trustedHeader({ header: userHeader, proxies: proxy ?? [] })]),
  ]
  if (ways.length > 1) throw refusal(`expected one of ${USER}, ${USERS_FILE} and --user-header`)
  return ways[0]?.()
}

/** Lines `user:password`; empty ones and those that begin with # are left out. */
function usersIn(file: string): readonly BasicAuthUser[] {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    throw refusal(`${USERS_FILE}: cannot read ${file}`, { cause })
  }
  const lines = text.split(/\r?\n/).map((line, at) => ({ line, number: at + 1 }))
  return lines.flatMap(({ line, number }) => {
    if (line.trim() === '' || line.startsWith('#')) return []
    const colon = line.indexOf(':')
    // The line itself may be a password.
    if (colon < 1) throw refusal(`${USERS_FILE}: ${file}:${number}: expected user:password`)
    return [{ user: line.slice(0, colon), password: line.slice(colon + 1) }]
  })
}

/** Before the config is loaded: nothing is opened for a command that is refused. */
function refuseOpenDoor(host: string, auth: Auth | undefined): void {
  if (auth !== undefined || isLoopbackName(host)) return
  throw refusal(`--host ${host}: others reach this address: set ${USER} and ${PASSWORD}, or leave --host out`)
}

const nothing = (): void => {}
const LOG = {
  debug: nothing,
  info: nothing,
  warn: (_: object, message: string) => say(message),
  error: (_: object, message: string) => say(message),
}

async function serve(session: Session, flags: DashboardFlags, auth: Auth | undefined): Promise<number> {
  const { port, host, allowHost, basePath, write, instance, environment, color, showPayload, redact } = flags
  const { consumers, migrations } = session.config
  const options: ServeDashboardOptions = {
    consumers,
    migrations,
    port,
    host,
    hosts: allowHost,
    basePath,
    readOnly: !write,
    instances: instance,
    environment: environment === undefined ? undefined : { name: environment, color },
    showPayload,
    redact,
    journals: flags.journals,
    pages: flags.pages,
    timeoutMs: Math.min(session.timeoutMs, LONGEST_WAIT_MS),
    auth,
    log: LOG,
  }
  using interrupts = new Interrupts()
  const served = await serveDashboard(options).catch((cause: unknown) => {
    const { code } = (cause ?? {}) as { readonly code?: unknown }
    if (code !== 'EADDRINUSE' && code !== 'EACCES' && code !== 'EADDRNOTAVAIL') throw cause
    throw misuse(`--port ${port} --host ${host}: ${code}: take another one`, { cause })
  })
  if (session.isJson) printJson('dashboard', { url: served.url, read_only: !write })
  else printText(served.url)
  say(write ? 'People may change things here (--write). Ctrl-C ends it.' : 'Read-only. Ctrl-C ends it.')
  const { signal } = interrupts
  if (!signal.aborted) {
    await new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
  }
  await served.close()
  return EXIT.ok
}

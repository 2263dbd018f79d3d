import { Console } from 'node:console'
import { Option, type Command } from 'commander'
import { isConsumeOnceError, StoreError, type ConfiguredConsumer, type ConsumeOnceConfig } from '../src/index.ts'
import { describeError, hasCode } from '../src/internal.ts'
import { withoutSecrets } from '../src/foundation/without-secrets.ts'
import { scopeText } from '../src/consumer/scope.ts'
import { loadConfig } from './config-file.ts'
import { CommandError, misuse } from './exit.ts'
import { say } from './output.ts'
import { parsePositive } from './parse.ts'
import { within } from '../src/foundation/within.ts'

export interface SessionFlags {
  readonly config?: string
  readonly json: boolean
  /** Seconds. */
  readonly timeout: number
}

const TIMEOUT_S = 30
const CLOSE_WITHIN_MS = 5_000

/** Options of every command with a config. */
export function addSessionOptions(command: Command): Command {
  for (const option of sessionOptions()) command.addOption(option)
  return command.allowExcessArguments(false)
}

/** Gets the exit code of the command that ran. */
export type End = (exitCode: number) => void

/** What a command does: `work` gets a session, then the arguments and the flags. `check`: before a config is loaded, which may connect. */
export function runs<Given extends readonly unknown[]>(
  command: Command,
  end: End,
  help: string,
  work: (session: Session, ...given: Given) => Promise<number>,
  how: { readonly instead?: ConsumeOnceConfig; readonly check?: (...given: Given) => void } = {},
): void {
  command.addHelpText('after', help).action(async (...given: unknown[]) => {
    // The last one is the command itself.
    const asked = given.slice(0, -1) as unknown as Given
    const flags = given.at(-2) as SessionFlags
    how.check?.(...asked)
    end(await Session.run(flags, (session) => work(session, ...asked), how.instead))
  })
}

function sessionOptions(): readonly Option[] {
  return [
    new Option('--config <file>', 'default: consume-once.config.js, .mjs, .ts or .mts here').env('CONSUME_ONCE_CONFIG'),
    new Option('--json', 'one JSON object on stdout, and nothing else there').default(false),
    new Option('--timeout <seconds>', 'how long a server may take to answer')
      .default(TIMEOUT_S)
      .argParser(parsePositive),
  ]
}

/** The same words, with the options that every command has behind it: people type them in front, too. */
export function behindCommand(words: readonly string[]): readonly string[] {
  const known = new Map(sessionOptions().map((option) => [option.long, option.required]))
  let at = 0
  while (at < words.length) {
    const [name = '', value] = (words[at] ?? '').split('=', 2)
    const takesValue = known.get(name)
    if (takesValue === undefined) break
    at += takesValue && value === undefined ? 2 : 1
  }
  const rest = words.slice(at)
  const end = rest.includes('--') ? rest.indexOf('--') : rest.length
  return [...rest.slice(0, end), ...words.slice(0, at), ...rest.slice(end)]
}

/** ioredis prints the stack of each failed attempt to connect; the command itself says once why there is no server. */
const OF_IOREDIS = '[ioredis] Unhandled error event'

/** What ioredis printed last, without the stack: its calls fail without a reason. */
let lastOfIoredis: string | undefined

function consoleOnStderr(): Console {
  const console = new Console(process.stderr, process.stderr)
  const print = console.error.bind(console)
  lastOfIoredis = undefined
  console.error = (...given: unknown[]) => {
    if (typeof given[0] !== 'string' || !given[0].startsWith(OF_IOREDIS)) return print(...given)
    const [line = ''] = String(given[1]).split('\n')
    lastOfIoredis = withoutSecrets(line.replace(/^\w*Error: /, ''))
  }
  return console
}

/** With the reason that its client has told beside it. */
function withReason(error: StoreError): StoreError {
  const reason = lastOfIoredis
  if (reason === undefined || reason === '' || error.message.includes(reason)) return error
  return new StoreError('STORE_UNREACHABLE', `${error.message.replace(/\.$/, '')} (${reason})`, {
    cause: error.cause ?? error,
  })
}

/** One command with one config, which is closed at the end. */
export class Session {
  readonly config: ConsumeOnceConfig
  readonly isJson: boolean
  readonly timeoutMs: number

  /** Returns the result of `work`, the exit code. `instead`: the config to use if there is none. */
  static async run(
    { config: path, json, timeout }: SessionFlags,
    work: (session: Session) => Promise<number>,
    instead?: ConsumeOnceConfig,
  ): Promise<number> {
    // Output of a config or a client goes to stderr.
    globalThis.console = consoleOnStderr()
    const config = await loadConfig(path, timeout * 1_000, instead)
    const session = new Session(config, json, timeout * 1_000)
    try {
      return await work(session)
    } finally {
      await session.#close()
    }
  }

  private constructor(config: ConsumeOnceConfig, isJson: boolean, timeoutMs: number) {
    this.config = config
    this.isJson = isJson
    this.timeoutMs = timeoutMs
  }

  /** By its name, or by `group/name` if several have the name. */
  consumer(name: string): ConfiguredConsumer {
    const { consumers } = this.config
    const asked = consumers.filter((entry) => entry.consumer.name === name || titleOf(entry) === name)
    const [entry, another] = asked
    if (entry !== undefined && another === undefined) return entry
    const known = (another === undefined ? consumers : asked).map(titleOf).join(', ')
    throw misuse(
      another === undefined
        ? `expected a consumer of the config (${known}), got ${JSON.stringify(name)}`
        : `${JSON.stringify(name)} is several consumers: say one of ${known}`,
    )
  }

  /** Waits for the answer of a server. A timeout, or any error of a client, means that the server cannot be reached. */
  async answer<T>(asking: Promise<T>): Promise<T> {
    try {
      return await within(this.timeoutMs, asking, () => noAnswer(this.timeoutMs, ' (--timeout)'))
    } catch (error) {
      if (hasCode(error, 'STORE_UNREACHABLE')) throw withReason(error as StoreError)
      if (isConsumeOnceError(error) || error instanceof CommandError || error instanceof TypeError) throw error
      throw withReason(new StoreError('STORE_UNREACHABLE', describeError(error), { cause: error }))
    }
  }

  async #close(): Promise<void> {
    try {
      await within(CLOSE_WITHIN_MS, Promise.resolve(this.config.close?.()), () => noAnswer(CLOSE_WITHIN_MS))
    } catch (error) {
      say(`consume-once: close() of the config: ${describeError(error)}`)
    }
  }
}

/** The name with its group, for consumers whose name is not unique. */
export function titleOf({ consumer, subscription }: ConfiguredConsumer): string {
  return scopeText([subscription.group, consumer.name])
}

function noAnswer(ms: number, limit = ''): Error {
  return new Error(`no answer within ${ms / 1_000} s${limit}`)
}

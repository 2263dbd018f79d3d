import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createJiti } from 'jiti'
import { ConfigError, defineConfig, type ConsumeOnceConfig } from '../src/index.ts'
import { describeError } from '../src/internal.ts'
import { Connections } from './connections.ts'
import { CommandError, EXIT } from './exit.ts'
import { withoutSecrets } from '../src/foundation/without-secrets.ts'
import { within } from '../src/foundation/within.ts'

const NAMES = ['js', 'mjs', 'ts', 'mts'].map((extension) => `consume-once.config.${extension}`)

/** Node 20 loads no TypeScript; later ones neither every syntax, nor imports without `.ts`. */
const REFUSALS = [
  'ERR_UNKNOWN_FILE_EXTENSION',
  'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX',
  'ERR_MODULE_NOT_FOUND',
  'ERR_UNSUPPORTED_DIR_IMPORT',
]

/** `import()` of a URL. */
export type LoadModule = (url: string) => Promise<unknown>

let loadModule: LoadModule = (url) => import(url)

export function loadModulesBy(given: LoadModule): void {
  loadModule = given
}

/**
 * @param instead - used if no path is given and there is no config here.
 * @defaultValue none: that is an error
 * @throws CommandError, exit 2: the config is missing, cannot be loaded, or is invalid; exit 4: it waits too long at top level
 */
export async function loadConfig(
  given: string | undefined,
  timeoutMs: number,
  instead?: ConsumeOnceConfig,
): Promise<ConsumeOnceConfig> {
  const path = given === undefined ? found() : resolve(given)
  if (path === undefined) return instead ?? missing()
  if (!existsSync(path)) throw new CommandError(EXIT.usage, `--config: no file ${path}`)
  return checked(path, await load(path, timeoutMs))
}

function found(): string | undefined {
  return NAMES.map((name) => resolve(name)).find((candidate) => existsSync(candidate))
}

function missing(): never {
  throw new CommandError(
    EXIT.usage,
    `expected a config, found none of ${NAMES.join(', ')} in ${process.cwd()}. Write one (docs/operations.md; consume-once init writes one with its worker), or name it by --config`,
  )
}

async function load(path: string, timeoutMs: number): Promise<unknown> {
  using connections = new Connections()
  try {
    return await within(timeoutMs, defaultExport(path), () => tooLate(path, timeoutMs, connections.silent()))
  } catch (cause) {
    if (cause instanceof ConfigError || cause instanceof CommandError) throw cause
    throw new CommandError(EXIT.usage, withoutSecrets(`${path}: ${describeError(cause)}`), { cause })
  }
}

function tooLate(path: string, timeoutMs: number, silent: readonly string[]): CommandError {
  const who = silent.length === 0 ? '' : ` No answer from ${silent.join(', ')}.`
  return new CommandError(
    EXIT.unreachable,
    `${path}: not loaded within ${timeoutMs / 1_000} s (--timeout): it waits at top level, such as in \`await client.connect()\`.${who} See that the server runs, or connect in the config without \`await\` (docs/operations.md#connect-without-await): then a command needs no other server than its own`,
  )
}

async function defaultExport(path: string): Promise<unknown> {
  try {
    const { default: config } = (await loadModule(pathToFileURL(path).href)) as { readonly default?: unknown }
    return config
  } catch (error) {
    if (!isTypeScript(path) || !isRefusedByNode(error)) throw error
    // Node links all modules before it runs the first, so nothing of the config has run.
    const { default: config } = await createJiti(import.meta.url, { fsCache: false }).import<{
      readonly default?: unknown
    }>(path)
    return config
  }
}

function isTypeScript(path: string): boolean {
  return /\.[cm]?ts$/.test(path)
}

function isRefusedByNode(error: unknown): boolean {
  // In a package of type `commonjs`, as npm 11 makes it, Node 24 reads a `.ts` as CommonJS, which has no `import`.
  if (error instanceof SyntaxError) return true
  const { code } = (error ?? {}) as { readonly code?: unknown }
  return REFUSALS.some((known) => known === code)
}

function checked(path: string, config: unknown): ConsumeOnceConfig {
  if (config === undefined) {
    throw new CommandError(
      EXIT.usage,
      `${path}: expected \`export default defineConfig({ ... })\`, got no default export`,
    )
  }
  return defineConfig(config as ConsumeOnceConfig)
}

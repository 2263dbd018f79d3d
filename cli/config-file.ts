import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ConfigError, defineConfig, type ConsumeOnceConfig } from '../src/index.ts'
import { describeError } from '../src/spi.ts'
import { CommandError, EXIT } from './exit.ts'
import { withoutSecrets } from '../src/without-secrets.ts'

const NAMES = ['js', 'mjs', 'ts'].map((extension) => `consume-once.config.${extension}`)

const TYPESCRIPT_CODES = ['ERR_UNKNOWN_FILE_EXTENSION', 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX']

/**
 * @param instead - used if no path is given and there is no config here.
 * @defaultValue none: that is an error
 * @throws CommandError, exit 2: the config is missing, cannot be loaded, or is invalid
 */
export async function loadConfig(given: string | undefined, instead?: ConsumeOnceConfig): Promise<ConsumeOnceConfig> {
  const path = given === undefined ? found() : resolve(given)
  if (path === undefined) return instead ?? missing()
  if (!existsSync(path)) throw new CommandError(EXIT.usage, `--config: no file ${path}`)
  return checked(path, await load(path))
}

function found(): string | undefined {
  return NAMES.map((name) => resolve(name)).find((candidate) => existsSync(candidate))
}

function missing(): never {
  throw new CommandError(
    EXIT.usage,
    `expected a config, found none of ${NAMES.join(', ')} in ${process.cwd()}. Write one (docs/operations.md), or name it by --config`,
  )
}

async function load(path: string): Promise<unknown> {
  try {
    const { default: config } = (await import(pathToFileURL(path).href)) as { default?: unknown }
    return config
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause
    const { code } = cause as { code?: unknown }
    const advice = TYPESCRIPT_CODES.some((known) => known === code) ? `. ${TYPESCRIPT_ADVICE}` : ''
    throw new CommandError(EXIT.usage, withoutSecrets(`${path}: ${describeError(cause)}${advice}`), { cause })
  }
}

const TYPESCRIPT_ADVICE =
  `Node ${process.versions.node} does not load such a file by itself: npm install tsx, then run ` +
  '`node --import tsx node_modules/.bin/consume-once ...`, or write the config as .mjs'

function checked(path: string, config: unknown): ConsumeOnceConfig {
  if (config === undefined) {
    throw new CommandError(
      EXIT.usage,
      `${path}: expected \`export default defineConfig({ ... })\`, got no default export`,
    )
  }
  return defineConfig(config as ConsumeOnceConfig)
}

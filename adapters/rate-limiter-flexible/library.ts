import { ConfigError } from '../../src/internal.ts'

/** @throws (rejects) ConfigError `CONFIG_INVALID` if it is not installed */
export async function library(): Promise<typeof import('rate-limiter-flexible')> {
  try {
    return await import('rate-limiter-flexible')
  } catch (cause) {
    const problem = 'rate-limiter-flexible is not installed: run `npm install rate-limiter-flexible`'
    throw new ConfigError([problem], 'CONFIG_INVALID', { cause })
  }
}

/** For `SharedLimit.open`. */
export async function isInstalled(): Promise<void> {
  await library()
}

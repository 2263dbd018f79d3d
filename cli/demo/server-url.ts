import { CommandError, EXIT } from '../exit.ts'

/**
 * The URL of a server, from the environment.
 * @throws CommandError if it is not a URL
 */
export function serverUrl(variable: string, fallback: string): string {
  const url = process.env[variable] ?? fallback
  if (/^[a-z]+:\/\//.test(url) && URL.canParse(url)) return url
  throw new CommandError(EXIT.usage, `${variable}: expected a URL such as ${fallback}, got one that cannot be read`)
}

/** A connection string without its password, for display. */
export function withoutPassword(url: string): string {
  return url.replace(/\/\/[^@/]*@/, '//')
}

import { describeError } from '../../src/internal.ts'
import { CommandError, EXIT, misuse } from '../exit.ts'

/** Runs what needs something that the user gave. @throws CommandError, exit 2 */
export async function given<T>(what: string, use: () => T | Promise<T>, advice: string = ''): Promise<T> {
  try {
    return await use()
  } catch (cause) {
    const text = `${what}: ${describeError(cause)}. ${advice}Nothing was produced.`
    throw misuse(text, { cause })
  }
}

/** The first call of a server. @throws CommandError, exit 4 */
export async function reached<T>(server: string, variable: string, calling: Promise<T>): Promise<T> {
  try {
    return await calling
  } catch (cause) {
    const advice = `Start one, or set ${variable}. Nothing was produced.`
    throw new CommandError(EXIT.unreachable, `no usable ${server} answers (${describeError(cause)}). ${advice}`, {
      cause,
    })
  }
}

/** The URL of a server, from the environment. @throws CommandError, exit 2 */
export function serverUrl(variable: string, fallback: string): string {
  const url = process.env[variable] ?? fallback
  if (/^[a-z]+:\/\//.test(url) && URL.canParse(url)) return url
  throw misuse(`${variable}: expected a URL such as ${fallback}, got one that cannot be read`)
}

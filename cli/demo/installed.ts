import { CommandError, EXIT } from '../exit.ts'

/** Error codes of `import` and `require`. */
const NOT_FOUND: ReadonlySet<unknown> = new Set(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'])

/** Loads a client for the demo. The package includes none: each is an optional peer dependency. */
export async function installed<T>(name: string, loading: Promise<T>): Promise<T> {
  try {
    return await loading
  } catch (cause) {
    if (!NOT_FOUND.has((cause as { code?: unknown }).code)) throw cause
    const advice = `${name} is not installed: npm install ${name}, or ask for another --store or --source. Nothing was produced.`
    throw new CommandError(EXIT.usage, advice, { cause })
  }
}

export function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name)
    return true
  } catch {
    return false
  }
}

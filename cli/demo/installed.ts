import { CommandError, EXIT } from '../exit.ts'

/** A client that the demo is asked to use. The package brings none: each is an optional peer. */
export async function installed<T>(name: string, loading: Promise<T>): Promise<T> {
  try {
    return await loading
  } catch (cause) {
    if ((cause as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw cause
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

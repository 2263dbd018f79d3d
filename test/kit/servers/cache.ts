import { mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** Path in the folder that keeps fetched files between runs; created if missing. */
export function inCache(...path: readonly string[]): string {
  const folder = process.env['CO_CACHE'] ?? process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache')
  const ours = join(folder, 'consume-once')
  mkdirSync(ours, { recursive: true })
  return join(ours, ...path)
}

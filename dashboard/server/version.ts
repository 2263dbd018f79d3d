import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The version in the manifest of this package: two folders above dist/lib, or in the folder of a checkout. */
export function version(): string {
  const here = typeof __dirname === 'string' ? [join(__dirname, '../..')] : []
  for (const folder of [...here, process.cwd()]) {
    try {
      const manifest: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
      const { name, version: found } = manifest as { readonly name?: string; readonly version?: string }
      if (name === 'consume-once' && found !== undefined) return found
    } catch {
      continue
    }
  }
  return 'unknown'
}

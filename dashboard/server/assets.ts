import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { extname, join } from 'node:path'
import { ConfigError } from '../../src/foundation/errors.ts'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
}

const BASE = '%CONSUME_ONCE_BASE%'
/** `app-0a1b2c3d4e.js`: its name changes with its content. */
const HASHED = /-[\da-f]{8,}\.\w+$/

interface Asset {
  readonly bytes: Uint8Array
  readonly headers: Readonly<Record<string, string>>
}

/** The built pages, read once. Only what lies in the folder can be asked for: a path is a name in a map, and never opened. */
export class Assets {
  readonly #byName: ReadonlyMap<string, Asset>
  readonly #page: Asset | undefined

  /** @param base - of the page, with a slash at its end */
  constructor(folder: string, base: string) {
    const names = existsSync(folder) ? readdirSync(folder).filter((name) => statSync(join(folder, name)).isFile()) : []
    const known = names.filter((name) => extname(name) in TYPES && extname(name) !== '.html')
    this.#byName = new Map(known.map((name) => [name, assetOf(name, readFileSync(join(folder, name)))]))
    if (!names.includes('index.html')) return
    const page = readFileSync(join(folder, 'index.html'), 'utf8').replaceAll(BASE, () => escaped(base))
    this.#page = assetOf('index.html', Buffer.from(page))
  }

  get isThere(): boolean {
    return this.#page !== undefined
  }

  /**
   * @param path - within the base path, without a slash at its beginning
   * @returns `undefined`: there is no such file. A path without an extension is a page.
   */
  answer(path: string, request: Request): Response | undefined {
    const asset = this.#byName.get(path) ?? (/\.\w+$/.test(path) ? undefined : this.#page)
    if (asset === undefined) return undefined
    if (request.headers.get('if-none-match') === asset.headers['etag']) {
      return new Response(null, { status: 304, headers: asset.headers })
    }
    return new Response(request.method === 'HEAD' ? null : Buffer.from(asset.bytes), { headers: asset.headers })
  }
}

function assetOf(name: string, bytes: Uint8Array): Asset {
  const type = TYPES[extname(name)] ?? 'application/octet-stream'
  const cache = HASHED.test(name) ? 'public, max-age=31536000, immutable' : 'no-cache'
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
  return { bytes, headers: { 'content-type': type, 'cache-control': cache, etag } }
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
}

/** @throws ConfigError `CONFIG_INVALID` if the pages are not there */
export function assetsIn(given: string | undefined, base: string): Assets {
  const folders = given === undefined ? usualFolders() : [given]
  for (const folder of folders) {
    const assets = new Assets(folder, base)
    if (assets.isThere) return assets
  }
  throw new ConfigError([
    `dashboard: pages: expected the built pages in ${folders.join(' or ')}; in a checkout run npm run build, and give \`pages\` if you bundle your server`,
  ])
}

function usualFolders(): readonly string[] {
  // In the package this is dist/lib/dashboard.js, a CommonJS module. In a checkout its source is run, by Jest or as an ES module.
  const isPackaged = typeof __filename === 'string' && __filename.endsWith('.js')
  return [isPackaged ? join(__dirname, '../ui') : join(process.cwd(), 'dist/ui')]
}

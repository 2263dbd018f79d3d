import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { withLinks, type AsText } from '../site/markdown.ts'

/**
 * What is published beside `dist`: the guides, for a person or an assistant without a network, what monitoring imports, and the
 * servers that `consume-once init` names.
 */
export const PUBLISHED: readonly string[] = [
  'README.md',
  'CHANGELOG.md',
  'LICENSE',
  'docker-compose.yml',
  'docs',
  'observability',
  'dist',
]
/** Parts of `docs` that are not published: they are for the repository, made of tables, or stand in the declarations too. */
const LEFT_OUT =
  /^docs\/(?:decisions|images|performance|pictures|proof)(?:\/|$)|^docs\/(?:cli|compatibility|options|performance|proof)\.md$/
/** Fields of the manifest that only a checkout needs. */
const OF_A_CHECKOUT = ['private', 'scripts', 'devDependencies', 'overrides', 'workspaces']

export type Manifest = Readonly<Record<string, unknown>> & {
  readonly version: string
  readonly repository?: string | { readonly url?: string }
}

export function manifestOf(root: string): Manifest {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest
}

/**
 * Writes the package as it is published into a folder, for `npm pack` and `npm publish`. Links to what is not in the
 * package lead to the repository, those of the README all: the registry shows it.
 *
 * @param manifest - without `repository` such links become texts that name the page
 */
export function stage(root: string, folder: string, manifest: Manifest = manifestOf(root)): void {
  if (!existsSync(join(root, 'dist'))) throw new Error('stage: expected dist, run npm run build')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const name of PUBLISHED) {
    cpSync(join(root, name), join(folder, name), {
      recursive: true,
      filter: (from) => !LEFT_OUT.test(relative(root, from)),
    })
  }
  const kept = Object.fromEntries(Object.entries(manifest).filter(([field]) => !OF_A_CHECKOUT.includes(field)))
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(kept, null, 2)}\n`)
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (name.endsWith('.md')) change(name, (text) => withLinks(withoutPadding(text), (target) => linkIn(name, target)))
    if (/^observability\/.+\.json$/.test(name)) change(name, (text) => JSON.stringify(JSON.parse(text)))
  }

  function change(name: string, to: (text: string) => string): void {
    writeFileSync(join(folder, name), to(readFileSync(join(folder, name), 'utf8')))
  }

  function linkIn(page: string, target: string): string | AsText {
    const [path = '', anchor] = target.split('#')
    if (path === '') return target
    const file = normalize(join(dirname(page), path))
    const isHere = existsSync(join(folder, file))
    if (page !== 'README.md' && isHere) return target
    const link = linkTo(manifest, file) ?? (isHere ? path : undefined)
    if (link === undefined) return { names: `${file} of the repository` }
    return anchor === undefined ? link : `${link}#${anchor}`
  }
}

/** The formatter pads the cells of tables: a fifth of all pages. */
function withoutPadding(markdown: string): string {
  return markdown.replaceAll(/^\|.*$/gm, (row) => row.replaceAll(/ +\|/g, ' |').replaceAll(/\| -{4,}/g, '| ---'))
}

/** A file of the repository, as it is in this version. `undefined` without `repository`. */
export function linkTo(manifest: Manifest, file: string): string | undefined {
  const repository = repositoryOf(manifest)
  const kind = /\.(?:png|svg)$/.test(file.replace(/#.*/, '')) ? 'raw' : 'blob'
  return repository === undefined ? undefined : `${repository}/${kind}/v${manifest.version}/${file}`
}

/** `https://github.com/owner/name`, of what npm allows. */
export function repositoryOf({ repository }: Manifest): string | undefined {
  const url = typeof repository === 'object' ? repository.url : repository
  return url?.replace(/^git\+|\.git$/g, '').replace(/^github:/, 'https://github.com/')
}

// What the published files will bring, told by the sources: `packaging/build.ts` makes one file of each folder, and a
// bundler leaves it out as a whole or not at all.
import { readdirSync } from 'node:fs'
import { build, type BuildOptions, type Plugin } from 'esbuild'

/** What `defineConsumer` alone brings, minified: 72 kB when this was written, of 286 that the entry point names. */
export const MOST_BYTES = 76_000

/** Entry points that load none of the folders of the engine. */
export const WITHOUT_ENGINE = ['pg', 'mysql2', 'redis', 'lru-cache', 'pino', 'guards', 'health', 'file'] as const
export const ENGINE: readonly string[] = ['pipeline', 'run', 'people']

/** `src/core`, `adapters/pg`. */
type Folder = string

/** For each of these programs the folders of which files come with it, and so all of them. */
export async function foldersWith(
  programs: Readonly<Record<string, string>>,
): Promise<ReadonlyMap<string, readonly Folder[]>> {
  const folders = Object.fromEntries(FOLDERS.map((folder) => [folder, whole(folder)]))
  const uses = await usedBy({ ...folders, ...programs })
  const reached = (names: readonly string[]): string[] => {
    const more = new Set(names.flatMap((name) => [name, ...(uses.get(name) ?? [])]))
    return more.size === names.length ? [...names].toSorted() : reached([...more])
  }
  return new Map(Object.keys(programs).map((name) => [name, reached(uses.get(name) ?? [])]))
}

/** Bytes of all that is in these folders, minified: 3 % more than a bundler makes of the published files. */
export async function bytesOf(folders: readonly Folder[]): Promise<number> {
  const { outputFiles } = await build({
    ...ALIKE,
    stdin: { contents: whole(...folders), resolveDir: process.cwd() },
    minify: true,
    write: false,
  })
  return outputFiles.reduce((sum, { contents }) => sum + contents.length, 0)
}

const ALIKE = { bundle: true, platform: 'node', format: 'cjs', packages: 'external' } satisfies BuildOptions

const FOLDERS: readonly Folder[] = ['src', 'adapters'].flatMap((top) =>
  readdirSync(top, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [`${top}/${entry.name}`] : [])),
)

/** All of their files. */
function whole(...folders: readonly Folder[]): string {
  return folders
    .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`))
    .filter((file) => file.endsWith('.ts'))
    .map((file, at) => `export * as _${at} from './${file}'`)
    .join('\n')
}

/** The folders of what is left of each program when nothing is in it that it does not use. */
async function usedBy(programs: Readonly<Record<string, string>>): Promise<ReadonlyMap<string, readonly Folder[]>> {
  const given: Plugin = {
    name: 'given',
    setup: (bundler) => {
      bundler.onResolve({ filter: /^given:/ }, ({ path }) => ({
        path: path.slice('given:'.length),
        namespace: 'given',
      }))
      bundler.onLoad({ filter: /./, namespace: 'given' }, ({ path }) => ({
        contents: programs[path] ?? '',
        resolveDir: process.cwd(),
      }))
    },
  }
  const names = Object.keys(programs)
  const { metafile } = await build({
    ...ALIKE,
    plugins: [given],
    entryPoints: Object.fromEntries(names.map((name, at) => [String(at), `given:${name}`])),
    outdir: 'nowhere',
    write: false,
    metafile: true,
  })
  return new Map(
    Object.entries(metafile.outputs).map(([file, { inputs }]) => {
      const kept = Object.entries(inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0)
      const own = kept.flatMap(([input]) => FOLDERS.filter((folder) => input.startsWith(`${folder}/`)))
      return [names[Number(/(\d+)\.js$/.exec(file)?.[1])] ?? '', [...new Set(own)]]
    }),
  )
}

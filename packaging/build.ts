// npm run build: what is published, into dist (docs/decisions/0015-one-build-as-commonjs.md).
//
//   NAME.js, NAME.d.ts   an entry point: names and nothing else
//   lib/FOLDER.js        the code of a folder of the sources, readable: a stack says `lib/pipeline.js`
//   NAME.mjs             an entry point as an ES module too, where it imports a peer that may be one
//   index.mjs            the names of the main entry point as an ES module, of the same files: a bundler leaves out what is not used
//   cli.mjs              the command
//   ui                   the pages of the dashboard
//
// tsx packaging/build.ts FOLDER: the library alone, into that folder, with every module of it as an entry point too, below `inside`.
// Tests run against it (npm run test:built).

import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown, type OutputOptions, type Plugin } from 'rolldown'
import { dts } from 'rolldown-plugin-dts'
import { buildUi } from '../dashboard/build/ui.ts'
import { withoutMarkers } from '../lab/mutants/planted.ts'
import { entries } from './entries.ts'

const ROOT = process.cwd()
const OUT = join(ROOT, 'dist')

/**
 * They import a peer at run time. Where that peer is an ES module, or is loaded as one, a `require` of it would load it
 * a second time, with other classes: Nest 12 then finds none of its own.
 */
const WITH_PEERS = ['nestjs', 'otel', 'lru-cache'] as const

const LIBRARY = Object.fromEntries(
  entries(ROOT).map(({ name, source }) => [name === '.' ? 'index' : name.slice(2), join(ROOT, source)]),
)
/** Entry points that no user imports. */
const INSIDE = { internal: join(ROOT, 'src/internal.ts'), 'lib/tool': join(ROOT, 'cli/tool.ts') }

/** `adapters/pg/lease/admin.ts` is in `lib/pg.js`. An entry point is a file of its own, so that it exports no inner names. */
function chunkOf(id: string): string | null {
  const file = id.replace(/\?.*$/, '').replace(/\.d\.ts$/, '.ts')
  if (Object.values({ ...LIBRARY, ...INSIDE }).includes(file)) return null
  if (!file.startsWith(`${ROOT}/`)) return 'runtime'
  const [top = '', folder = '', below] = file.slice(ROOT.length + 1).split('/')
  if (top === 'src' && below === undefined) return null
  return top === 'src' || top === 'adapters' ? folder : top
}

const PER_FOLDER = {
  includeDependenciesRecursively: false,
  groups: [{ debugName: 'folders', name: chunkOf }],
} satisfies OutputOptions['codeSplitting']

const published: Plugin = {
  name: 'published',
  transform: (code) => withoutMarkers(code),
  generateBundle: (_, files) => {
    for (const file of Object.values(files)) {
      if (file.type !== 'chunk') continue
      const code = plain(file.code)
      file.code = file.isEntry || WITH_PEERS.some((name) => name === file.name) ? code : exportedTogether(code)
    }
  },
}

/**
 * Getters are for bindings that change, and there are none: an exported `let` does not pass the linter. The folder of a
 * name is said by `$pipeline.name` alone.
 */
function plain(code: string): string {
  return code
    .replaceAll(
      /Object\.defineProperty\(exports, "(\w+)", \{\s+enumerable: true,\s+get: function\(\) \{\s+return ([\w$]+);\s+\}\s+\}\);/g,
      'exports.$1 = $2;',
    )
    .replaceAll(/\brequire_(?=\w)/g, '$')
    .replaceAll(/^\/\/ (?:src|adapters|testing|dashboard|cli)\/[\w./-]+\.ts\n/gm, '')
}

/** Exports of a file that only `require` loads. A file that an ES module imports keeps a line for each name, by which Node finds it. */
function exportedTogether(code: string): string {
  return code.replace(/(?:^exports\.([\w$]+) = \1;\n?)+/m, (lines) => {
    const names = [...lines.matchAll(/^exports\.([\w$]+)/gm)].map(([, name]) => name)
    return `Object.assign(exports, { ${names.join(', ')} });\n`
  })
}

const isOfOthers = (id: string): boolean => !/^[./\0]/.test(id) && !id.startsWith('@oxc-project/runtime')

/** Written for the oldest Node that `engines` admits. Comments are in the declarations, and in the sources. */
const SHARED = {
  platform: 'node',
  preserveEntrySignatures: 'allow-extension',
  external: isOfOthers,
  transform: { target: 'node20.19' },
} as const
const WITHOUT_COMMENTS = { comments: { jsdoc: false, annotation: true, legal: true } } as const

async function buildLibrary(out: string, others: Readonly<Record<string, string>> = {}): Promise<void> {
  const bundle = await rolldown({ ...SHARED, plugins: [published], input: { ...LIBRARY, ...INSIDE, ...others } })
  await bundle.write({
    ...WITHOUT_COMMENTS,
    dir: out,
    format: 'cjs',
    exports: 'named',
    entryFileNames: '[name].js',
    chunkFileNames: 'lib/[name].js',
    // Jest loads CommonJS, where `import()` does not work.
    dynamicImportInCjs: false,
    codeSplitting: PER_FOLDER,
  })
  writeFileSync(join(out, 'package.json'), '{ "type": "commonjs", "sideEffects": false }\n')
}

/** The same library, with another format of what touches a peer: its state is in the CommonJS files alone. */
async function buildModules(): Promise<void> {
  const inside: Plugin = {
    name: 'inside',
    resolveId: (id, from = '') => {
      if (id.endsWith('/src/internal.ts')) return { id: './internal.js', external: true }
      // What an application finds by its class: its provider is one, however it was imported.
      const isOfNest = from.endsWith('/adapters/nestjs/index.ts') && id.startsWith('./')
      return isOfNest ? { id: './lib/nestjs.js', external: true } : undefined
    },
  }
  const input = Object.fromEntries(WITH_PEERS.map((name) => [name, LIBRARY[name] ?? '']))
  const bundle = await rolldown({ ...SHARED, plugins: [inside, published], input })
  await bundle.write({ ...WITHOUT_COMMENTS, dir: OUT, format: 'es', entryFileNames: '[name].mjs' })
  for (const name of WITH_PEERS) writeFileSync(join(OUT, `${name}.d.mts`), `export * from './${name}.js'\n`)
}

/**
 * `export { defineConsumer } from './lib/consumer.js'`, for bundlers (the condition `module`): they cannot leave out a part
 * of a CommonJS file, but a file of it that no name in use is from.
 */
async function buildNames(): Promise<void> {
  const folders: Plugin = {
    name: 'folders',
    resolveId: (id, from) =>
      from === LIBRARY['index'] ? { id: `./lib/${id.split('/')[1]}.js`, external: true } : undefined,
  }
  const bundle = await rolldown({ ...SHARED, plugins: [folders], input: { index: LIBRARY['index'] ?? '' } })
  await bundle.write({ dir: OUT, format: 'es', entryFileNames: '[name].mjs' })
}

/** As in the code. */
const withTabs: Plugin = {
  name: 'with-tabs',
  generateBundle: (_, files) => {
    for (const file of Object.values(files)) {
      if (file.type === 'chunk') file.code = file.code.replaceAll(/^(?: {2})+/gm, (is) => '\t'.repeat(is.length / 2))
    }
  },
}

async function buildDeclarations(): Promise<void> {
  const bundle = await rolldown({
    input: LIBRARY,
    preserveEntrySignatures: 'allow-extension',
    external: isOfOthers,
    plugins: [dts({ generator: 'oxc', dtsOnly: true }), withTabs],
  })
  await bundle.write({
    dir: OUT,
    format: 'es',
    entryFileNames: '[name].d.ts',
    chunkFileNames: 'lib/[name].d.ts',
    codeSplitting: PER_FOLDER,
  })
}

async function buildCommand(): Promise<void> {
  const tool: Plugin = {
    name: 'tool',
    resolveId: (id) => (id === './tool.ts' ? { id: './lib/tool.js', external: true } : undefined),
  }
  const bundle = await rolldown({ ...SHARED, plugins: [tool, published], input: { cli: join(ROOT, 'cli/main.ts') } })
  await bundle.write({ dir: OUT, format: 'es', entryFileNames: '[name].mjs' })
}

/** Every module, under the name `inside/adapters/pg/index`. */
function everyModule(): Readonly<Record<string, string>> {
  const files = ['src', 'adapters', 'testing', 'dashboard/api', 'dashboard/server'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => `${folder}/${name}`),
  )
  return Object.fromEntries(files.map((file) => [`inside/${file.replace(/\.ts$/, '')}`, join(ROOT, file)]))
}

async function build(): Promise<void> {
  await buildLibrary(OUT)
  await buildModules()
  await buildNames()
  await buildDeclarations()
  await buildCommand()
  await buildUi(join(OUT, 'ui'))
}

const [forTests] = process.argv.slice(2)
rmSync(forTests ?? OUT, { recursive: true, force: true })
await (forTests === undefined ? build() : buildLibrary(forTests, everyModule()))

import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync, copyFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { entries } from '../../packaging/entries.ts'
import { inRun } from './servers/test-run.ts'

/** Programs that tests start as a process, or name in a file that a process loads. */
const PROGRAMS: readonly string[] = [
  'cli/main.ts',
  ...entries().map(({ source }) => source),
  'test/kit/cli-host/program.ts',
  'test/otel/program.ts',
  'test/pg/lease-rival.ts',
  'test/pg/outbox-relay.ts',
  'test/rabbitmq/programs/publishes-once.ts',
  'test/redis/limited.ts',
  'lab/stores/lease-rival.ts',
  'lab/footprint/worker.ts',
  'lab/on-call/worker.ts',
  'lab/on-call/on-call.config.ts',
  'lab/outbox/program.ts',
  ...filesOf('test/cli', /\.config\.ts$/),
  ...filesOf('lab/replay', /\.config\.ts$/),
  ...filesOf('examples', /^quick-.*\.ts$/),
]

function filesOf(folder: string, name: RegExp): readonly string[] {
  return readdirSync(folder)
    .filter((file) => name.test(file))
    .map((file) => `${folder}/${file}`)
}

/**
 * The JavaScript of one of `PROGRAMS`, to be run by node alone. The first who asks in a run bundles them all from the sources of
 * that moment: under tsx each start of a process takes a second of CPU, as a tree of 300 files half a second, so a fifth.
 */
export function compiled(source: string | URL): string {
  const path = relative(process.cwd(), source instanceof URL ? fileURLToPath(source) : resolve(source))
  if (!PROGRAMS.includes(path)) throw new Error(`${path}: expected one of ${PROGRAMS.join(', ')}. Add it to PROGRAMS`)
  return join(compiledPrograms(), path.replace(/\.ts$/, '.js'))
}

/** Two processes that ask at once both compile, and the run uses the programs of the first to end. */
export function compiledPrograms(): string {
  const folder = inRun('compiled')
  if (!existsSync(folder)) {
    const own = mkdtempSync(`${folder}-`)
    compileInto(own)
    try {
      renameSync(own, folder)
    } catch (error) {
      if (!existsSync(folder)) throw error
      rmSync(own, { recursive: true })
    }
  }
  return join(folder, 'dist')
}

/** A folder that is the package for itself and for node. Programs share one file of common code, so a config and the tool have one library. */
function compileInto(folder: string): void {
  copyFileSync('package.json', join(folder, 'package.json'))
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  buildSync({
    entryPoints: [...PROGRAMS],
    outdir: join(folder, 'dist'),
    outbase: '.',
    bundle: true,
    splitting: true,
    packages: 'external',
    // An import of a CommonJS package takes Node 50 ms: first it is read for its names. The package that is published has a require.
    alias: {
      commander: './node_modules/commander/index.js',
      'cli-progress': './node_modules/cli-progress/cli-progress.js',
    },
    banner: {
      js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
    },
    platform: 'node',
    target: 'node20',
    format: 'esm',
    logLevel: 'error',
  })
}

import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { minify } from '@swc/core'
import { build as bundleWith, type Plugin } from 'esbuild'

const HERE = join(process.cwd(), 'site/proof')

/**
 * Parts of the library that no consumer of the page reaches: a log, replays, mode `observe`, work while the store is down, IDs from the
 * payload, strategy `offsets`. Whoever reaches one nevertheless gets an error; a test compares histories with Node.
 */
const UNREACHED: readonly string[] = [
  'fingerprint.ts',
  'growth.ts',
  'id-window.ts',
  'log-event.ts',
  'memory-offsets.ts',
  'observe-batching.ts',
  'offsets-database.ts',
  'payload-id.ts',
  'replays.ts',
  'source-sequence.ts',
  'unprotected.ts',
]

/** What is wrong with an option. The options of the page are not. */
const PROBLEM = /problems\.push\(\s*(?:`(?:[^`\\]|\\.)*`|'(?:[^'\\\n]|\\.)*'),?\s*\)/g

/** The engine as one script for browsers, with its exports in the global `proof`. */
export function bundleEngine(): Promise<string> {
  return bundle('engine/index.ts')
}

/** The page, with its engine. */
export function bundlePage(): Promise<string> {
  return bundle('page/main.ts')
}

async function bundle(entry: string): Promise<string> {
  const { outputFiles } = await bundleWith({
    entryPoints: [join(HERE, entry)],
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    globalName: 'proof',
    platform: 'browser',
    target: ['chrome110', 'firefox115', 'safari16.4'],
    alias: {
      'node:crypto': join(HERE, 'browser/crypto.ts'),
      'node:diagnostics_channel': join(HERE, 'browser/diagnostics-channel.ts'),
    },
    inject: [join(HERE, 'browser/globals.ts')],
    plugins: [withoutUnreached()],
    legalComments: 'none',
    logLevel: 'warning',
  })
  const [script] = outputFiles
  if (script === undefined) throw new TypeError(`no script was bundled (${entry})`)
  // Inlines and folds what esbuild leaves: about 7 kB.
  const { code } = await minify(script.text, {
    compress: { passes: 2, ecma: 2022 },
    mangle: true,
    module: false,
  })
  return code
}

function withoutUnreached(): Plugin {
  return {
    name: 'without-unreached',
    setup(build) {
      const missing = new Set(UNREACHED)
      build.onLoad({ filter: new RegExp(`/(${UNREACHED.join('|').replaceAll('.', '\\.')})$`) }, async ({ path }) => {
        const name = basename(path)
        missing.delete(name)
        const names = [...(await readFile(path, 'utf8')).matchAll(/^export (class|function|const) (\w+)/gm)]
        return { loader: 'js', contents: names.map(([, kind, exported]) => stubOf(kind, exported, name)).join('\n') }
      })
      build.onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => {
        const source = await readFile(path, 'utf8')
        return { loader: 'ts', contents: source.replace(PROBLEM, "problems.push('')") }
      })
      build.onEnd(() => {
        if (missing.size === 0) return
        throw new TypeError(`UNREACHED of site/proof/build names files that are not there: ${[...missing].join(', ')}`)
      })
    },
  }
}

/** Throws when it is called; one of a class when it is used. */
function stubOf(kind: string | undefined, name: string | undefined, file: string): string {
  const refuse = `throw new TypeError('not on this page: ${file}')`
  return kind === 'class'
    ? `export function ${name}() { return new Proxy({}, { get() { ${refuse} } }) }`
    : `export function ${name}() { ${refuse} }`
}

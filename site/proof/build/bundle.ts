import { join } from 'node:path'
import { build } from 'esbuild'

const HERE = join(process.cwd(), 'site/proof')

/** The engine as one script for browsers, with its exports in the global `proof`. */
export function bundleEngine(): Promise<string> {
  return bundle('engine/index.ts')
}

/** The page, with its engine. */
export function bundlePage(): Promise<string> {
  return bundle('page/main.ts')
}

async function bundle(entry: string): Promise<string> {
  const { outputFiles } = await build({
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
    legalComments: 'none',
    logLevel: 'warning',
  })
  const [script] = outputFiles
  if (script === undefined) throw new TypeError(`no script was bundled (${entry})`)
  return script.text
}

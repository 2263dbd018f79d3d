import { join } from 'node:path'
import { build } from 'esbuild'

const HERE = join(process.cwd(), 'site/proof')

/** The engine as one script for browsers, with its exports in the global `proof`. */
export async function bundleEngine(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(HERE, 'engine/index.ts')],
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
  if (script === undefined) throw new TypeError('no script was bundled (bundleEngine)')
  return script.text
}

import { copyFileSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync, type BuildOptions } from 'esbuild'
import { inRun } from '../servers/test-run.ts'
import type { ProgramName } from './spec.ts'

const OWN = fileURLToPath(new URL('programs', import.meta.url))
/** What docs/deploy.md shows, as a whole file. */
const DEPLOYED = 'examples/deploy.ts'
const SUPPORT = "'./support/deployed.ts'"

/** The JavaScript of a program, for node alone. The first who asks in a run bundles them all; the first bundle to be whole is used. */
export function stopProgram(name: ProgramName): string {
  const folder = inRun('stops')
  if (!existsSync(folder)) {
    const own = mkdtempSync(`${folder}-`)
    bundleInto(own)
    try {
      renameSync(own, folder)
    } catch (error) {
      if (!existsSync(folder)) throw error
      rmSync(own, { recursive: true })
    }
  }
  return join(folder, `${name}.js`)
}

function bundleInto(folder: string): void {
  copyFileSync('package.json', join(folder, 'package.json'))
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  const options: BuildOptions = {
    bundle: true,
    // A process that has to find few files starts in a third of the time.
    external: ['@nestjs/*', 'fastify', 'reflect-metadata'],
    banner: {
      js: "import { createRequire as requirer } from 'node:module'; const require = requirer(import.meta.url)",
    },
    platform: 'node',
    target: 'node20',
    format: 'esm',
    logLevel: 'error',
  }
  const entryPoints = ['short', 'nest', 'fastify'].map((name) => join(OWN, `${name}.ts`))
  buildSync({ ...options, entryPoints, outdir: folder })
  buildSync({ ...options, stdin: deployed(), outfile: join(folder, 'deploy.js') })
}

/** The example as it is, except for where its consumers come from. */
function deployed(): NonNullable<BuildOptions['stdin']> {
  const example = readFileSync(DEPLOYED, 'utf8')
  if (!example.includes(SUPPORT)) throw new Error(`${DEPLOYED}: expected its consumers from ${SUPPORT}`)
  const contents = example.replace(SUPPORT, JSON.stringify(join(OWN, 'life.ts')))
  return { contents, loader: 'ts', resolveDir: resolve('examples') }
}

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { build } from 'esbuild'
import { patched, type Patch } from '../mutants/mutant.ts'

/** A program as one file, which starts in no time and runs without a loader. */
export interface Bundle extends Disposable {
  readonly file: string
}

/** Bundles the child that runs schedules, with a fault in the library where one is asked for. */
export async function bundleChild(patches: readonly Patch[] = []): Promise<Bundle> {
  const folder = mkdtempSync(join(tmpdir(), 'consume-once-sim-'))
  const file = join(folder, 'child.mjs')
  const root = process.cwd()
  const used = new Set<string>()
  try {
    await build({
      entryPoints: ['lab/simulator/child.ts'],
      outfile: file,
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: 'node20',
      plugins: [
        {
          name: 'patches',
          setup: (bundler) =>
            bundler.onLoad({ filter: /\.ts$/ }, ({ path }) => {
              const name = relative(root, path)
              used.add(name)
              return { contents: patched(name, readFileSync(path, 'utf8'), patches), loader: 'ts' }
            }),
        },
      ],
    })
    const unused = patches.filter((patch) => !used.has(patch.file))
    if (unused.length > 0) throw new Error(`not in the simulator: ${unused.map((patch) => patch.file).join(', ')}`)
  } catch (error) {
    rmSync(folder, { recursive: true })
    throw error
  }
  return { file, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) }
}

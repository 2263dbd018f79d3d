import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { build } from 'esbuild'
import type { Mutant } from '../mutants/mutant.ts'
import { planted } from '../mutants/planted.ts'

/** A program as one file, which starts in no time and runs without a loader. */
export interface Bundle extends Disposable {
  readonly file: string
}

/** Bundles the child that runs schedules, with a fault in the library where one is asked for. */
export async function bundleChild(mutant?: Mutant): Promise<Bundle> {
  const folder = mkdtempSync(join(tmpdir(), 'consume-once-sim-'))
  const file = join(folder, 'child.mjs')
  const root = process.cwd()
  const texts = new Map(mutant && planted(mutant))
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
          name: 'mutant',
          setup: (bundler) =>
            bundler.onLoad({ filter: /\.ts$/ }, ({ path }) => {
              const name = relative(root, path)
              const contents = texts.get(name)
              texts.delete(name)
              return contents === undefined ? undefined : { contents, loader: 'ts' }
            }),
        },
      ],
    })
    if (texts.size > 0) throw new Error(`not in the simulator: ${[...texts.keys()].join(', ')}`)
  } catch (error) {
    rmSync(folder, { recursive: true })
    throw error
  }
  return { file, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) }
}

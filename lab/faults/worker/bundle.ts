import { build } from 'esbuild'
import { join } from 'node:path'
import { newFolder } from '../../../test/kit/servers/private-instance.ts'

/** Programs as one plain file each: a process that has to compile nothing starts in a third of the time. Gone with the run. */
export class Bundle {
  readonly #folder: string

  private constructor(folder: string) {
    this.#folder = folder
  }

  static async build(): Promise<Bundle> {
    const folder = newFolder('faults')
    const entryPoints = { worker: 'lab/faults/worker/program.ts', provider: 'lab/faults/provider/program.ts' }
    await build({
      entryPoints,
      outdir: folder,
      bundle: true,
      platform: 'node',
      format: 'cjs',
      outExtension: { '.js': '.cjs' },
      external: ['pg-native'],
      logLevel: 'error',
    })
    return new Bundle(folder)
  }

  path(program: 'worker' | 'provider'): string {
    return join(this.#folder, `${program}.cjs`)
  }
}

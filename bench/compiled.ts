import { execFile } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/**
 * The library and the contenders as JavaScript, as users run them: what tsx makes of them keeps the names of functions at
 * a price of some 8 % here. In a folder of its own that ends with the run.
 */
export class Compiled implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'consume-once-bench-'))

  /** The file that runs one contender. */
  get child(): string {
    return join(this.#folder, 'dist', 'bench', 'child.js')
  }

  static async make(): Promise<Compiled> {
    const compiled = new Compiled()
    const { [Symbol.dispose]: dispose } = compiled
    const folder = compiled.#folder
    try {
      copyFileSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
      symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
      const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
      const outDir = join(folder, 'dist')
      await promisify(execFile)(process.execPath, [tsc, '-p', ROOT, '--noCheck', '--outDir', outDir])
      return compiled
    } catch (error) {
      dispose.call(compiled)
      throw error
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

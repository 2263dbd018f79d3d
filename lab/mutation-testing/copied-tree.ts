import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, relative } from 'node:path'
import type { Mutant } from '../mutants/mutant.ts'
import { planted } from '../mutants/planted.ts'

/** Not copied, as `node_modules` of any folder. Those of the root are shared by a link. */
const LEFT_OUT = new Set(['.git', 'dist'])

/** A copy of the repository, as it is on the disk, in which one mutant at a time lives. */
export class CopiedTree {
  readonly folder: string

  constructor() {
    const root = process.cwd()
    this.folder = mkdtempSync(join(tmpdir(), 'consume-once-mutants-'))
    const isCopied = (path: string): boolean => !LEFT_OUT.has(relative(root, path)) && basename(path) !== 'node_modules'
    cpSync(root, this.folder, { recursive: true, filter: isCopied })
    symlinkSync(realpathSync(join(root, 'node_modules')), join(this.folder, 'node_modules'))
  }

  /** Runs `work` while the mutant is in the copy. */
  async with<T>(mutant: Mutant, work: () => Promise<T>): Promise<T> {
    const texts = planted(mutant, this.folder)
    const originals = new Map([...texts.keys()].map((file) => [file, readFileSync(join(this.folder, file), 'utf8')]))
    try {
      for (const [file, text] of texts) writeFileSync(join(this.folder, file), text)
      return await work()
    } finally {
      for (const [file, text] of originals) writeFileSync(join(this.folder, file), text)
    }
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

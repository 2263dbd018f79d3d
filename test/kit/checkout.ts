import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe } from '@jest/globals'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Folders that commands of package.json make. */
const MADE = new Set(['node_modules', 'dist', '.built', 'coverage', '.consume-once-demo'])

/** `archive`: the files without git, as `git archive` or the download of a release has them. */
export type Checkout = 'clone' | 'shallow clone' | 'archive'

export function checkoutAt(root: string): Checkout {
  // Not asked of git: the folder of an archive may lie in a repository of somebody else.
  if (!existsSync(join(root, '.git'))) return 'archive'
  return git(root, 'rev-parse', '--is-shallow-repository') === 'true' ? 'shallow clone' : 'clone'
}

/** For tests of what git knows about commits: skipped in a shallow clone and in an archive, which have none. */
export const describeWithHistory: typeof describe.skip = checkoutAt(ROOT) === 'clone' ? describe : describe.skip

/** Paths of all files that are sources: those that git knows; in an archive, all but what commands have made. */
export function sourceFiles(root: string = ROOT): readonly string[] {
  return checkoutAt(root) === 'archive' ? filesBelow(root, '') : git(root, 'ls-files').split('\n')
}

function filesBelow(root: string, folder: string): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`
    if (!entry.isDirectory()) return path
    return MADE.has(entry.name) ? [] : filesBelow(root, path)
  })
}

function git(root: string, ...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 16 * 1024 * 1024 }).trim()
}

import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Folders that commands of package.json make. */
const MADE = new Set(['node_modules', 'dist', '.built', 'coverage', '.consume-once-demo'])

/** Whether it is the files without git, as `git archive` or the download of a release has them. Not asked of git: the folder may lie in a repository of somebody else. */
function isArchive(root: string): boolean {
  return !existsSync(join(root, '.git'))
}

/** Paths of all files that are sources: those that git knows; in an archive, all but what commands have made. */
export function sourceFiles(root: string = ROOT): readonly string[] {
  return isArchive(root) ? filesBelow(root, '') : git(root, 'ls-files').split('\n')
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

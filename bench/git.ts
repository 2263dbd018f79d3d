import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export const ROOT: string = fileURLToPath(new URL('..', import.meta.url))

const CHANGED = '-changed'
const SHORT = '--short=12'

/** Commit of the working tree, with `-changed` if a source file differs. Recorded results are not sources. */
export function currentCommit(folder: string = ROOT): string {
  const changed = git(folder, 'status', '--porcelain', '--untracked-files=no', '--', '.', ':!bench/results', ':!docs')
  return `${git(folder, 'rev-parse', SHORT, 'HEAD')}${changed === '' ? '' : CHANGED}`
}

export function isChanged(commit: string): boolean {
  return commit.endsWith(CHANGED)
}

/** `commit` as it was committed: what was changed on top of it is known to nobody. */
export function committed(commit: string): string {
  return isChanged(commit) ? commit.slice(0, -CHANGED.length) : commit
}

/** First 12 digits of the commit of that name. @throws where this clone has no such commit, with what to do */
export function commitCalled(name: string, folder: string = ROOT): string {
  try {
    return git(folder, 'rev-parse', '--verify', '--quiet', SHORT, '--end-of-options', `${name}^{commit}`)
  } catch (error) {
    throw new Error(whyUnknown(name, folder), { cause: error })
  }
}

function whyUnknown(name: string, folder: string): string {
  let isShallow: string
  try {
    isShallow = git(folder, 'rev-parse', '--is-shallow-repository')
  } catch {
    return `${folder} is no clone of a git repository (or there is no git in PATH): a commit can be compared in a clone only`
  }
  if (isShallow !== 'true') return `this repository has no commit called ${name}`
  return `this clone is shallow and has no commit called ${name}: git fetch --unshallow, or git fetch origin ${name}`
}

/** Writes all files of a commit into `folder`, which exists. */
export function extract(commit: string, folder: string): void {
  const archive = `${folder}.tar`
  git(ROOT, 'archive', '--format=tar', `--output=${archive}`, commit)
  execFileSync('tar', ['-xf', archive, '-C', folder])
}

function git(folder: string, ...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
}

import { execFileSync } from 'node:child_process'
import { isRoot, needProgram } from '../commands.ts'

/** Where the folder of a server is to be seen from inside. */
export const FOLDER_INSIDE = '/data'

/** The mounts are of this process alone, and end with it. */
const ENTER = `set -e
mount --rbind /proc "$1/proc"
mount --rbind /dev "$1/dev"
mount --bind "$2" "$1${FOLDER_INSIDE}"
root=$1
shift 2
exec chroot "$root" "$@"`

/** @throws Error why `inRoot` cannot work here, in a container without that right for example */
export function needChroot(): void {
  if (!isRoot()) throw new Error('not root, which another root folder needs')
  needProgram('chroot')
  try {
    execFileSync(needProgram('unshare'), ['--mount', 'true'], { stdio: 'pipe' })
  } catch (cause) {
    throw new Error(`no mounts of its own for a process: ${(cause as Error).message}`, { cause })
  }
}

/** How to run a command with `root` as its root folder, and `folder` at `FOLDER_INSIDE`. It becomes the process started. */
export function inRoot(
  root: string,
  folder: string,
  command: readonly string[],
): { readonly command: string; readonly args: readonly string[] } {
  return { command: needProgram('unshare'), args: ['--mount', 'sh', '-c', ENTER, 'sh', root, folder, ...command] }
}

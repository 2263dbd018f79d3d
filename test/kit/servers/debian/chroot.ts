import { execFileSync } from 'node:child_process'
import { isRoot, needProgram } from '../commands.ts'

/** Where the folder of a server is to be seen from inside. */
export const FOLDER_INSIDE = '/data'

/** In a root made by unpack.ts, the user for servers that refuse to run as root: `nobody`. */
export const USER_INSIDE = { uid: 65_534, gid: 65_534 } as const

/** The mounts are of this process alone, and end with it. */
const ENTER = `set -e
mount --rbind /proc "$1/proc"
mount --rbind /dev "$1/dev"
mount --bind "$2" "$1${FOLDER_INSIDE}"
root=$1 user=$3
shift 3
exec chroot --userspec="$user" "$root" "$@"`

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
  { uid, gid }: { readonly uid: number; readonly gid: number },
): { readonly command: string; readonly args: readonly string[] } {
  const enter = ['--mount', 'sh', '-c', ENTER, 'sh', root, folder, `+${uid}:+${gid}`]
  return { command: needProgram('unshare'), args: [...enter, ...command] }
}

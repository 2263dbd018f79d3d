import type { SystemUser } from '../private-instance.ts'
import { FOLDER_INSIDE, inRoot } from './chroot.ts'

/** Where programs run: on this machine, or with another Debian as their root. */
export interface Place {
  /** The folder of the server, as it sees it. */
  readonly folder: string
  readonly env: NodeJS.ProcessEnv
  command(program: string, ...args: readonly string[]): Command
}

interface Command {
  readonly command: string
  readonly args: readonly string[]
  readonly user: SystemUser | undefined
}

const ROOT_USER: SystemUser = { uid: 0, gid: 0 }

/** `user` is whoever runs the tests, unless it is given. */
export function placeOf(root: string, folder: string, user?: SystemUser): Place {
  if (root === '/') return { folder, env: process.env, command: (command, ...args) => ({ command, args, user }) }
  return {
    folder: FOLDER_INSIDE,
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8', HOME: FOLDER_INSIDE },
    command: (...words) => ({ ...inRoot(root, folder, words, user ?? ROOT_USER), user: undefined }),
  }
}

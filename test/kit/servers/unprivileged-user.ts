import { isRoot, run } from './commands.ts'
import { USER_INSIDE } from './debian/chroot.ts'
import type { SystemUser } from './private-instance.ts'

/** For servers that refuse to run as root; `undefined`: the user who runs the tests is not root. */
export async function unprivilegedUser(root: string): Promise<SystemUser | undefined> {
  if (root !== '/') return USER_INSIDE
  if (!isRoot()) return undefined
  for (const name of ['postgres', 'nobody']) {
    try {
      const [uid, gid] = await Promise.all(['-u', '-g'].map((flag) => run('id', [flag, name], { timeoutMs: 5_000 })))
      return { uid: Number(uid), gid: Number(gid) }
    } catch {
      // The next one.
    }
  }
  throw new Error('it refuses to run as root, and there is neither a user postgres nor nobody')
}

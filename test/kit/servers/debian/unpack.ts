import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inCache } from '../cache.ts'
import { needProgram, run } from '../commands.ts'
import { foundOnce } from '../lock.ts'
import { aptAside, needApt } from './apt.ts'
import { FOLDER_INSIDE, needChroot, USER_INSIDE } from './chroot.ts'

/** Programs of another Debian than the machine's own, in a folder to be used as the root (chroot.ts). */
export interface DebianRoot {
  /** Name of the folder in the cache. */
  readonly name: string
  readonly suite: string
  readonly packages: readonly string[]
  /** Throws if it holds something else. */
  readonly check: (root: string) => void
}

/** Files that start scripts of servers expect. */
const BASE = [
  'base-files',
  'bash',
  'coreutils',
  'dash',
  'findutils',
  'grep',
  'hostname',
  'libc-bin',
  'mawk',
  'procps',
  'sed',
]

/** The root, if it was unpacked before. */
export function cachedRoot({ name }: DebianRoot): string | undefined {
  const root = inCache(name)
  return existsSync(root) ? root : undefined
}

/**
 * Fetches the packages and what they depend on, and only unpacks them: nothing of the machine changes, no script of theirs
 * runs. Made aside and moved into place whole, so that nobody sees half of it.
 *
 * @throws Error what is missing for that, or what failed
 */
export async function unpackRoot(wanted: DebianRoot): Promise<string> {
  const root = inCache(wanted.name)
  return foundOnce(
    `${root}.lock`,
    () => cachedRoot(wanted),
    async () => {
      needMeans()
      const aside = mkdtempSync(`${root}.`)
      try {
        await download(wanted, aside)
        await extract(aside)
        wanted.check(join(aside, 'root'))
        return cachedRoot(wanted) ?? moved(join(aside, 'root'), root)
      } finally {
        rmSync(aside, { recursive: true, force: true })
      }
    },
  )
}

function moved(from: string, to: string): string {
  renameSync(from, to)
  return to
}

function needMeans(): void {
  needChroot()
  needApt()
  needProgram('tar')
}

async function download({ suite, packages }: DebianRoot, aside: string): Promise<void> {
  const apt = await aptAside(suite, aside)
  await apt('--no-install-recommends', '--download-only', 'install', ...BASE, ...packages)
}

const EXTRACT = `set -euo pipefail
for deb in "$1"/*.deb; do
  dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$2" --keep-directory-symlink --exclude=./usr/share/doc --exclude=./usr/share/man
done`

async function extract(aside: string): Promise<void> {
  const root = join(aside, 'root')
  // In older suites some packages still have files outside /usr.
  for (const folder of ['bin', 'sbin', 'lib', 'lib64']) {
    mkdirSync(join(root, 'usr', folder), { recursive: true })
    symlinkSync(join('usr', folder), join(root, folder))
  }
  await run('bash', ['-c', EXTRACT, 'bash', join(aside, 'archives'), root], { timeoutMs: 300_000 })
  // Package scripts would create these.
  linkUnlessThere('mawk', join(root, 'usr/bin/awk'))
  linkUnlessThere('dash', join(root, 'usr/bin/sh'))
  for (const folder of ['proc', 'dev', 'tmp', 'etc', FOLDER_INSIDE]) mkdirSync(join(root, folder), { recursive: true })
  const { uid, gid } = USER_INSIDE
  writeFileSync(join(root, 'etc/passwd'), `root:x:0:0:root:/root:/bin/sh\nnobody:x:${uid}:${gid}:nobody:/:/bin/sh\n`)
  writeFileSync(join(root, 'etc/group'), `root:x:0:\nnogroup:x:${gid}:\n`)
  writeFileSync(join(root, 'etc/nsswitch.conf'), 'hosts: files\n')
  writeFileSync(join(root, 'etc/hosts'), '127.0.0.1 localhost\n')
}

function linkUnlessThere(target: string, path: string): void {
  if (!existsSync(path)) symlinkSync(target, path)
}

import { execFileSync } from 'node:child_process'
import { relative } from 'node:path'
import { needProgram } from '../commands.ts'
import { needChroot } from './chroot.ts'
import { cachedRoot, unpackRoot, type DebianRoot } from './unpack.ts'

/** A server in several versions, of which the machine has one at most: the others come from the Debian that has them. */
export interface Releases<V extends string, P> {
  /** Name of its folders in the cache. */
  readonly name: string
  readonly title: string
  readonly debian: Readonly<Record<V, Release>>
  /** Programs in the folder used as root, `/` for those of the machine. Throws the list of missing programs. */
  readonly find: (root: string, version: V | undefined) => P
  /** Command that prints their version. */
  readonly tell: (programs: P) => string
}

interface Release {
  readonly suite: string
  readonly packages: readonly string[]
  /** Text that the output of `tell` contains for this version only. */
  readonly sign: string
}

/** Those of the machine if they are of that version (`undefined`: whichever they are), or those that were unpacked before. */
export function ownOrUnpacked<V extends string, P>(releases: Releases<V, P>, version: V | undefined): P {
  if (version === undefined) return releases.find('/', undefined)
  const own = ownPrograms(releases, version)
  if (own?.told.includes(releases.debian[version].sign)) return own.programs
  const root = cachedRoot(debianRoot(releases, version))
  if (root !== undefined) {
    needChroot()
    return releases.find(root, version)
  }
  throw new Error(
    own === undefined
      ? `no ${releases.title} ${version} on this machine`
      : `expected ${releases.title} ${version}, got ${own.told} on this machine`,
  )
}

export async function unpack<V extends string, P>(releases: Releases<V, P>, version: V): Promise<void> {
  await unpackRoot(debianRoot(releases, version))
}

/** The path of a program as it is seen from inside `root`, looked for in `folders` of it. */
export function needInside(root: string, name: string, folders: readonly string[]): string {
  const way = relative(root, needProgram(name, folders))
  if (way.startsWith('..')) throw new Error(`no ${name} in ${root}`)
  return `/${way}`
}

/** Output of a program in `root`. */
export function saysVersion(root: string, program: string): string {
  const [command, ...args] = root === '/' ? [program] : [needProgram('chroot'), root, program]
  return execFileSync(command, [...args, '--version'], { encoding: 'utf8', stdio: 'pipe' }).trim()
}

function ownPrograms<V extends string, P>(
  { find, tell }: Releases<V, P>,
  version: V,
): { readonly programs: P; readonly told: string } | undefined {
  try {
    const programs = find('/', version)
    return { programs, told: tell(programs) }
  } catch {
    return undefined
  }
}

function debianRoot<V extends string, P>({ name, title, debian, find, tell }: Releases<V, P>, version: V): DebianRoot {
  const { suite, packages, sign } = debian[version]
  return {
    name: `${name}-${version}-${suite}`,
    suite,
    packages,
    check: (root) => {
      const told = tell(find(root, version))
      if (!told.includes(sign)) throw new Error(`expected ${title} ${version} in Debian ${suite}, got ${told}`)
    },
  }
}

import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { inCache } from '../test/kit/servers/cache.ts'
import { findProgram, run } from '../test/kit/servers/commands.ts'
import { aptAside, needApt } from '../test/kit/servers/debian/apt.ts'
import { foundOnce } from '../test/kit/servers/lock.ts'

export interface Tools {
  readonly spin: string
  readonly gcc: string
  /** As they say themselves. */
  readonly versions: string
}

const SUITE = 'bookworm'

/**
 * Spin of the machine, or the one in Debian's package, which needs nothing but libc: it is fetched once and kept beside what is
 * fetched for the tests. gcc compiles what Spin writes, and must be there.
 *
 * @throws Error which of them is missing, and why it was not to be had
 */
export async function needTools(): Promise<Tools> {
  const gcc = findProgram('gcc')
  if (gcc === undefined) throw new Error('no gcc in PATH: Spin writes a C program for each cell (package gcc)')
  const spin = findProgram('spin') ?? (await fetchedSpin())
  const [spinSays, gccSays] = await Promise.all([ask(spin, '-V'), ask(gcc, '--version')])
  return { spin, gcc, versions: `${spinSays}; ${gccSays}` }
}

function fetchedSpin(): Promise<string> {
  const folder = inCache(`spin-${SUITE}`)
  const program = join(folder, 'usr/bin/spin')
  const known = (): string | undefined => (existsSync(program) ? program : undefined)
  return foundOnce(`${folder}.lock`, known, async () => {
    const aside = mkdtempSync(`${folder}.`)
    try {
      await unpack(aside)
      rmSync(folder, { recursive: true, force: true })
      renameSync(join(aside, 'root'), folder)
      return program
    } catch (cause) {
      throw new Error(`no spin in PATH (package spin), and: ${(cause as Error).message}`, { cause })
    } finally {
      rmSync(aside, { recursive: true, force: true })
    }
  })
}

async function unpack(aside: string): Promise<void> {
  needApt()
  const apt = await aptAside(SUITE, aside)
  await apt('download', 'spin')
  const archives = join(aside, 'archives')
  const deb = readdirSync(archives).find((name) => name.startsWith('spin_'))
  if (deb === undefined) throw new Error(`Debian ${SUITE} gave no package spin`)
  await run('dpkg-deb', ['-x', join(archives, deb), join(aside, 'root')], { timeoutMs: 60_000 })
}

async function ask(program: string, option: string): Promise<string> {
  const [line = ''] = (await run(program, [option], { timeoutMs: 10_000 })).trim().split('\n')
  return line
}

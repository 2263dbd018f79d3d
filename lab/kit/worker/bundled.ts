import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, renameSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync, type BuildOptions } from 'esbuild'
import { newFolder } from '../../../test/kit/servers/private-instance.ts'
import { inRun } from '../../../test/kit/servers/test-run.ts'

/** It finds its WebAssembly beside its own file, so it stays where it is. */
const PLATFORMATIC = resolve('node_modules/@platformatic/kafka/dist/index.js')

/** The worker with a module (module.ts), as a program. */
export function bundledWorker(module: URL): string {
  const [program, own] = [new URL('program.ts', import.meta.url), module].map((file) => fileURLToPath(file))
  const contents = `import { runWorker } from '${program}'\nimport own from '${own}'\nvoid runWorker(own)`
  return bundled(contents, { stdin: { contents, resolveDir: process.cwd() } })
}

/** A program without a spec and a module. */
export function bundledProgram(program: URL): string {
  const file = fileURLToPath(program)
  // Not imported by another: a package whose modules have no side effects would lose it.
  return bundled(file, { entryPoints: [file] })
}

/**
 * One plain file: a process that has to find and compile nothing else starts in a third of the time. Made by the first who asks
 * in a run, and gone with it.
 */
function bundled(name: string, entry: Pick<BuildOptions, 'stdin' | 'entryPoints'>): string {
  const file = inRun(`${createHash('sha256').update(name).digest('hex')}.cjs`)
  if (existsSync(file)) return file
  const own = join(newFolder('bundle'), 'program.cjs')
  buildSync({
    ...entry,
    outfile: own,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    alias: { '@platformatic/kafka': PLATFORMATIC },
    external: ['pg-native', PLATFORMATIC],
    logLevel: 'error',
  })
  renameSync(own, file)
  return file
}

/** Runs a program with a spec as its argument. Resolves with the JSON that it prints. `killed`: it printed none. */
export async function runProgram<Told>(program: URL, spec: unknown): Promise<Told | 'killed'> {
  const args = [bundledProgram(program), JSON.stringify(spec)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let told = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    told += text
  })
  const [, signal] = (await once(child, 'close')) as unknown[]
  return signal === 'SIGKILL' && told === '' ? 'killed' : (JSON.parse(told) as Told)
}

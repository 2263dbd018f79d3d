import { execFile } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { foundOnce } from '../test/kit/servers/lock.ts'
import { inRun } from '../test/kit/servers/test-run.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** Files other than TypeScript: contenders may start their own servers, or programs in another language. */
const BESIDE = ['test/kit/servers/kafka/pom.xml', 'bench/jvm/pom.xml', 'bench/jvm/ParallelConsumer.java']

/**
 * Compiles library and contenders to JavaScript, which is what users run: what tsx makes of them keeps the names of
 * functions, for some 8 % of the time. Once in a run, in a folder that ends with it. Returns the file that runs one contender.
 */
export async function compile(): Promise<string> {
  const folder = inRun('bench')
  const child = join(folder, 'dist', 'bench', 'child.js')
  return foundOnce(
    inRun('bench.seeker'),
    () => (existsSync(child) ? child : undefined),
    async () => {
      const part = `${folder}.part`
      await compileInto(part)
      renameSync(part, folder) // Whole or not at all for those who wait.
      return child
    },
  )
}

async function compileInto(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  // With these a contender finds the library by its name, as a user's program does.
  copyFileSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const dist = join(folder, 'dist')
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
  await promisify(execFile)(process.execPath, [tsc, '-p', ROOT, '--noCheck', '--outDir', dist])
  for (const file of BESIDE) copyFileSync(join(ROOT, file), join(dist, file))
}

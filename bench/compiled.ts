import { execFile } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { foundOnce } from '../test/kit/servers/lock.ts'
import { inRun } from '../test/kit/servers/test-run.ts'
import { entries } from '../packaging/entries.ts'
import { extract, ROOT } from './git.ts'

/** Files other than TypeScript: contenders may start their own servers, or programs in another language. */
const BESIDE = ['test/kit/servers/kafka/pom.xml', 'bench/jvm/pom.xml', 'bench/jvm/ParallelConsumer.java']
/** What a contender is made of, besides the library. */
const HARNESS = ['bench', 'test/kit']

/**
 * Compiles library and contenders to JavaScript, which is what users run: what tsx makes of them keeps the names of
 * functions, for some 8 % of the time. Once in a run, in a folder that ends with it. Returns the file that runs one contender.
 */
export async function compile(): Promise<string> {
  const folder = inRun('bench')
  const child = childIn(folder)
  return foundOnce(
    inRun('bench.seeker'),
    () => (existsSync(child) ? child : undefined),
    async () => {
      const part = `${folder}.part`
      rmSync(part, { recursive: true, force: true })
      await compileInto(part, ROOT)
      renameSync(part, folder) // Whole or not at all for those who wait.
      return child
    },
  )
}

/** Files that contenders import, and what an older commit has in their place. */
const FORMER: Readonly<Record<string, string>> = {
  'adapters/redis/index.ts': './ioredis/index.ts',
  'adapters/kafkajs/source-and-publisher.ts': './broker.ts',
  'adapters/kafkajs/client.ts': './source-and-publisher.ts',
  'adapters/amqplib/source-and-publisher.ts': './broker.ts',
  'src/memory/index.ts': '../index.ts',
}

/** Gives an older commit the files of today that it had under another name. */
export function withFilesOfToday(tree: string): void {
  for (const [now, before] of Object.entries(FORMER)) {
    const file = join(tree, now)
    if (existsSync(file) || !existsSync(join(dirname(file), before))) continue
    writeFileSync(file, `export * from '${before}'\n`)
  }
  // The entries by which a contender finds them.
  for (const name of ['package.json', 'tsconfig.json']) copyFileSync(join(ROOT, name), join(tree, name))
}

/**
 * The same contenders with the library of another commit: contenders import it by its name. Dependencies are those of today.
 * Returns the file that runs one contender.
 */
export async function compileCommit(commit: string): Promise<string> {
  const tree = inRun(`bench-${commit}.tree`)
  mkdirSync(tree)
  extract(commit, tree)
  for (const part of HARNESS) {
    rmSync(join(tree, part), { recursive: true, force: true })
    mkdirSync(dirname(join(tree, part)), { recursive: true })
    cpSync(join(ROOT, part), join(tree, part), { recursive: true })
  }
  withFilesOfToday(tree)
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'))
  const folder = inRun(`bench-${commit}`)
  await compileInto(folder, tree)
  return childIn(folder)
}

const childIn = (folder: string): string => join(folder, 'dist', 'bench', 'child.js')

/** The bench of a tree, and what that imports of its library. */
async function compileInto(folder: string, tree: string): Promise<void> {
  mkdirSync(folder)
  // With these a contender finds the library by its name, as a user's program does.
  const exports = entries(tree).map(({ name, source }) => [name, `./dist/${source.replace(/ts$/, 'js')}`])
  const manifest = { name: 'consume-once', type: 'module', exports: Object.fromEntries(exports) }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const dist = join(folder, 'dist')
  const config = {
    extends: join(tree, 'tsconfig.json'),
    include: [join(tree, 'bench')],
    compilerOptions: { rootDir: tree, outDir: dist, noCheck: true, declaration: false, isolatedDeclarations: false },
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
  await promisify(execFile)(process.execPath, [tsc, '-p', folder])
  for (const file of BESIDE) copyFileSync(join(ROOT, file), join(dist, file))
}

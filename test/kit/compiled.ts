import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inRun } from './servers/test-run.ts'

const TSC = ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json', '--noCheck']
const AS_PROGRAMS = ['--declaration', 'false', '--isolatedDeclarations', 'false', '--sourceMap', 'false']

/** What programs read at a place beside their own file. */
const READ_BESIDE_PROGRAMS = [
  'docker-compose.yml',
  'examples/data/odd-cases.ndjson',
  'examples/data/sms-notifications.ndjson',
  'test/kit/servers/kafka/pom.xml',
]

/**
 * The JavaScript of a source file, to be run by node alone. The whole tree is compiled by the first who asks in a run, as the
 * package is: under tsx every start of a process costs a second of compiling.
 */
export function compiled(source: string | URL): string {
  const path = source instanceof URL ? fileURLToPath(source) : resolve(source)
  return join(compiledTree(), relative(process.cwd(), path).replace(/\.ts$/, '.js'))
}

/** Two who ask at once both compile, and the first to end is who gave the run its tree. */
export function compiledTree(): string {
  const folder = inRun('compiled')
  if (!existsSync(folder)) {
    const own = mkdtempSync(`${folder}-`)
    compileInto(own)
    try {
      renameSync(own, folder)
    } catch (error) {
      if (!existsSync(folder)) throw error
      rmSync(own, { recursive: true })
    }
  }
  return join(folder, 'dist')
}

/** A folder that is the package to itself and to node. */
function compileInto(folder: string): void {
  const dist = join(folder, 'dist')
  copyFileSync('package.json', join(folder, 'package.json'))
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  const { status, stdout } = spawnSync(process.execPath, [...TSC, '--outDir', dist, ...AS_PROGRAMS], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`the tree does not compile: ${stdout}`)
  for (const path of READ_BESIDE_PROGRAMS) symlinkSync(resolve(path), join(dist, path))
}

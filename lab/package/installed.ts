import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export const WITHIN_MS = 300_000

/** A folder for projects of strangers, with the packed package: a release gives the tarball that it will publish. */
export class Strangers implements Disposable {
  readonly dir: string = mkdtempSync(join(tmpdir(), 'consume-once-strangers-'))
  readonly tarball: string

  constructor() {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
    this.tarball = join(this.dir, `consume-once-${version}.tgz`)
  }

  /** Before the first `install`. */
  async pack(): Promise<void> {
    const given = process.env['CONSUME_ONCE_TARBALL']
    if (given === undefined) await run('npm', ['run', '--silent', 'pack', '--', this.dir])
    else copyFileSync(given, this.tarball)
  }

  write(file: string, text: string): void {
    mkdirSync(dirname(join(this.dir, file)), { recursive: true })
    writeFileSync(join(this.dir, file), text)
  }

  /** Makes a project that has the package and others beside it. */
  async install(project: string, others: readonly string[]): Promise<void> {
    this.write(`${project}/package.json`, '{ "private": true }')
    const quietly = ['--silent', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline']
    await this.run(project, 'npm', ['install', ...quietly, this.tarball, ...others])
  }

  /** What a program printed, on both ways. Rejects with it if the program failed. */
  async run(project: string, file: string, args: readonly string[], nodeOptions = ''): Promise<string> {
    const env = { ...process.env, NODE_OPTIONS: nodeOptions }
    const { stdout, stderr } = await run(file, args, { cwd: join(this.dir, project), env })
    return stdout + stderr
  }

  [Symbol.dispose](): void {
    rmSync(this.dir, { recursive: true, force: true })
  }
}

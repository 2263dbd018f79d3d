import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isSupported } from '../../../adapters/platformatic-kafka/supported-node.ts'
import { entries } from '../../../packaging/entries.ts'
import type { Broker, Store } from '../../../cli/init/clients.ts'
import { hosted } from '../cli-host/host.ts'
import { COMPILED } from '../cli-process.ts'
import { compiled } from '../compiled.ts'
import { eventually } from '../eventually.ts'
import { newFolder } from '../servers/private-instance.ts'

/** How a project may be written. */
export const VARIANTS = ['ts', 'ts in a package of type commonjs', 'js', 'js in a package of type commonjs'] as const
export type Variant = (typeof VARIANTS)[number]

export interface Ended {
  readonly code: number | null
  readonly printed: string
}

/** The folder of a user with the clients in its package.json, in which `init` runs. The library is the compiled one. */
export class InitProject implements AsyncDisposable {
  readonly dir: string = newFolder('init')
  readonly #children: ChildProcess[] = []
  readonly #more: Readonly<Record<string, string>>

  constructor(variant: Variant, packages: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.#more = env
    const dependencies = Object.fromEntries(packages.map((name) => [name, '*']))
    const type = variant.endsWith('commonjs') ? 'commonjs' : 'module'
    this.write('package.json', JSON.stringify({ type, dependencies }))
    if (variant.startsWith('ts'))
      this.write('tsconfig.json', '// As tsc --init writes it\n{ "compilerOptions": { "strict": true, }, }')
  }

  write(file: string, text: string): void {
    mkdirSync(dirname(join(this.dir, file)), { recursive: true })
    writeFileSync(join(this.dir, file), text)
  }

  read(file: string): string {
    return readFileSync(join(this.dir, file), 'utf8')
  }

  get files(): readonly string[] {
    return readdirSync(this.dir)
      .filter((name) => /\.m?[jt]s$/.test(name))
      .toSorted()
  }

  /** Replaces what several tests on one server would share. */
  replace(text: string | RegExp, by: string): void {
    for (const file of this.files) this.write(file, this.read(file).replaceAll(text, by))
  }

  /** What `npm install` does: the packages of this repository, and the library as programs of the tests have it. */
  install(): void {
    const modules = join(this.dir, 'node_modules')
    mkdirSync(join(modules, 'consume-once'), { recursive: true })
    for (const name of readdirSync('node_modules')) {
      if (name !== 'consume-once' && !existsSync(join(modules, name)))
        symlinkSync(resolve('node_modules', name), join(modules, name))
    }
    const exports = Object.fromEntries(
      entries().map(({ name, source }) => {
        const file = `${name === '.' ? 'index' : name.slice(2)}.mjs`
        const library = pathToFileURL(compiled(source)).href
        writeFileSync(join(modules, 'consume-once', file), `export * from '${library}'\n`)
        return [name, `./${file}`]
      }),
    )
    writeFileSync(join(modules, 'consume-once/package.json'), JSON.stringify({ name: 'consume-once', exports }))
  }

  cli(...words: readonly string[]): Promise<Ended> {
    const [, tool] = COMPILED()
    return this.#end([this.#node(), tool ?? '', ...words])
  }

  /** `init`, which loads none of the project, in the process for commands of the test file. */
  async init(...words: readonly string[]): Promise<Ended> {
    const run = hosted({ args: ['init', ...words], env: this.#env(), cwd: this.dir })
    if (run === undefined) throw new Error('another command runs there')
    const { exitCode, stdout, stderr } = await run
    return { code: exitCode, printed: stdout + stderr }
  }

  /** The tool on a terminal, at which a person types. `script` is of util-linux. */
  onTerminal(words: readonly string[], typed: string): Promise<Ended> {
    const [node, tool] = COMPILED()
    const line = [node, tool ?? '', ...words].map((word) => `'${word}'`).join(' ')
    return this.#end(['script', '--quiet', '--return', '--command', line, '/dev/null'], typed)
  }

  /** Runs one of its programs to the end. */
  run(file: string): Promise<Ended> {
    return this.#end(this.#command(file))
  }

  start(file: string, env: Readonly<Record<string, string>> = {}): Program {
    return new Program(this.#spawn(this.#command(file), env))
  }

  /** The tool, as a command that goes on until it is stopped. */
  startCli(...words: readonly string[]): Program {
    const [, tool] = COMPILED()
    return new Program(this.#spawn([this.#node(), tool ?? '', ...words]))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#children.map((child) => endOf(child, 'SIGKILL')))
  }

  #env(): NodeJS.ProcessEnv {
    return { ...process.env, NODE_OPTIONS: '', NO_COLOR: '1', NODE_NO_WARNINGS: '1', ...this.#more }
  }

  #node(): string {
    return /@platformatic/.test(this.read('package.json')) && this.files.length > 0 ? node24() : process.execPath
  }

  #command(file: string): readonly string[] {
    const typescript = file.endsWith('.js')
      ? []
      : ['--import', pathToFileURL(resolve('node_modules/tsx/dist/loader.mjs')).href]
    return [this.#node(), ...typescript, file]
  }

  async #end(command: readonly string[], typed = ''): Promise<Ended> {
    const child = this.#spawn(command)
    child.stdin?.end(typed)
    const program = new Program(child)
    const code = await program.ended
    return { code, printed: program.printed }
  }

  #spawn([program = '', ...words]: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
    const child = spawn(program, words, {
      cwd: this.dir,
      env: { ...this.#env(), ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    this.#children.push(child)
    return child
  }
}

/** A program of the project that runs. */
export class Program {
  printed = ''
  readonly ended: Promise<number | null>
  readonly #child: ChildProcess

  constructor(child: ChildProcess) {
    this.#child = child
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.printed += text))
    }
    this.ended = new Promise((settle) => void child.once('close', settle))
  }

  get lines(): readonly string[] {
    return this.printed.split('\n').filter((line) => line !== '')
  }

  /** Until it has printed so many lines that match. It must not end before. */
  async prints(count: number, line: RegExp): Promise<void> {
    await eventually(() => {
      if (this.#child.exitCode !== null) throw new Error(`ended with ${this.#child.exitCode}:\n${this.printed}`)
      return this.lines.filter((one) => line.test(one)).length >= count
    })
  }

  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    this.#child.kill(signal)
    return this.ended
  }
}

let newer: string | undefined

/** For `@platformatic/kafka`, where this Node is too old for it. */
function node24(): string {
  if (isSupported(process.versions.node)) return process.execPath
  const words = ['--yes', '--package=node@24', '--', 'node', '-p', 'process.execPath']
  newer ??= execFileSync('npx', words, { encoding: 'utf8', env: { ...process.env, NODE_OPTIONS: '' } }).trim()
  return newer
}

function endOf(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise((settle) => {
    child.once('close', () => settle())
    child.kill(signal)
  })
}

/** Each broker with each store. */
export function pairsOf(brokers: readonly Broker[], stores: readonly Store[]): readonly (readonly [Broker, Store])[] {
  return brokers.flatMap((broker) => stores.map((store) => [broker, store] as const))
}

import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { hosted } from './cli-host/host.ts'
import type { HostedCommand } from './cli-host/protocol.ts'
import { compiled } from './compiled.ts'

/** Time limit of a test that starts processes: each takes part of a second, and many seconds on a busy machine. */
export const WITHIN_MS = 120_000

export interface CliRun {
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  /** Takes a process. @defaultValue nothing */
  readonly stdin?: string
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Whether it gets a process of its own, which the other options also take. @defaultValue false */
  readonly asProcess?: boolean
  /** Command before the arguments. @defaultValue the compiled tool, with compiled configs */
  readonly command?: readonly [string, ...string[]]
  /** Gets what the process says, as it says it. */
  readonly onStderr?: (text: string, signal: (name: NodeJS.Signals) => void) => void
}

/** For some commands of a test file: that a whole process says and ends the same. */
export const AS_PROCESS: RunOptions = { asProcess: true }

/**
 * The tool as a person has it: a process. Most commands run one after the other in one process of the test file (cli-host), which
 * loads the tool once: a process for each takes a quarter of a second of CPU.
 */
export class Cli implements Disposable {
  readonly dir: string = mkdtempSync(join(tmpdir(), 'consume-once-cli-'))

  path(name: string): string {
    return join(this.dir, name)
  }

  /** A file in the folder of the test; returns its path. */
  file(name: string, text: string): string {
    writeFileSync(this.path(name), text)
    return this.path(name)
  }

  read(name: string): string {
    return readFileSync(this.path(name), 'utf8')
  }

  run(args: readonly string[], options: RunOptions = {}): Promise<CliRun> {
    const jsOf = options.command === undefined ? compiledConfig : (word: string) => word
    const config = options.env?.['CONSUME_ONCE_CONFIG']
    const command: HostedCommand = {
      args: args.map(jsOf),
      env: {
        ...process.env,
        NODE_OPTIONS: '',
        NO_COLOR: '1',
        ...options.env,
        ...(config === undefined ? {} : { CONSUME_ONCE_CONFIG: jsOf(config) }),
      },
      cwd: options.cwd ?? process.cwd(),
    }
    return (needsProcess(options) ? undefined : hosted(command)) ?? started(command, options)
  }

  /** A run on the config of the tests (memory.config.ts), with the states that its records came to. */
  async onMemory(args: readonly string[], options: RunOptions = {}): Promise<CliRun & { readonly states: States }> {
    const file = this.path('states.json')
    const env = { CONSUME_ONCE_CONFIG: 'test/cli/memory.config.ts', TEST_STATES_FILE: file, ...options.env }
    const run = await this.run(args, { ...options, env })
    try {
      return { ...run, states: JSON.parse(this.read('states.json')) as States }
    } catch (cause) {
      throw new Error(`expected the config to be closed, got:\n${run.stdout}\n${run.stderr}`, { cause })
    } finally {
      rmSync(file, { force: true })
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.dir, { recursive: true, force: true })
  }
}

function needsProcess({ asProcess = false, command, stdin = '', onStderr }: RunOptions): boolean {
  return asProcess || command !== undefined || stdin !== '' || onStderr !== undefined
}

function started({ args, env, cwd }: HostedCommand, options: RunOptions): Promise<CliRun> {
  const [program, ...words] = options.command ?? COMPILED()
  const child = spawn(program, [...words, ...args], { env, cwd, stdio: ['pipe', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
    options.onStderr?.(text, (name) => void child.kill(name))
  })
  child.stdin.on('error', () => {}).end(options.stdin ?? '')
  return new Promise((settle, reject) => {
    child.once('error', reject)
    child.once('close', (exitCode) => settle({ exitCode, stdout, stderr }))
  })
}

export type States = Readonly<Record<string, string>>

export const COMPILED = (): readonly [string, ...string[]] => [process.execPath, compiled('cli/main.ts')]

function compiledConfig(word: string): string {
  return /^test\/cli\/[\w-]+\.config\.ts$/.test(word) ? compiled(word) : word
}

/** The tool's source with what loads TypeScript, whatever folder it is run in. */
export const UNDER_TSX: readonly [string, ...string[]] = [
  process.execPath,
  '--import',
  resolve('node_modules/tsx/dist/loader.mjs'),
  resolve('cli/main.ts'),
]

/** The one JSON object of a run. */
export function dataOf({ stdout, stderr }: CliRun): unknown {
  try {
    return JSON.parse(stdout)
  } catch (cause) {
    throw new Error(`expected one JSON object on stdout, got:\n${stdout}\n${stderr}`, { cause })
  }
}

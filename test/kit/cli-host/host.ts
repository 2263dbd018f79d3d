import { fork, type ChildProcess } from 'node:child_process'
import { afterAll } from '@jest/globals'
import { compiled } from '../compiled.ts'
import { END, type HostedCommand } from './protocol.ts'

interface Ended {
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
}

let host: CliHost | undefined
afterAll(() => host?.end())

/** Runs a command of the tool in the process that the test file has for them. `undefined`: another one runs there. */
export function hosted(command: HostedCommand): Promise<Ended> | undefined {
  if (host === undefined || host.hasEnded) host = new CliHost()
  return host.isBusy ? undefined : host.run(command)
}

/** A process that has loaded the tool once. One that a command ends, or leaves something open in, ends with it. */
class CliHost {
  readonly #child: ChildProcess
  readonly #said = { stdout: '', stderr: '' }
  readonly #closed: Promise<void>
  #exitCode: number | null | undefined
  #settle: ((ended: Ended) => void) | undefined
  hasEnded = false

  constructor() {
    this.#child = fork(compiled('test/kit/cli-host/program.ts'), {
      env: { ...process.env, NODE_OPTIONS: '' },
      execArgv: [],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    for (const name of ['stdout', 'stderr'] as const) {
      this.#child[name]?.setEncoding('utf8').on('data', (text: string) => {
        this.#said[name] += text
        this.#settleIfOver()
      })
    }
    this.#child.on('message', (exitCode: number) => {
      this.#exitCode = exitCode
      this.#settleIfOver()
    })
    this.#closed = new Promise((resolve) => {
      this.#child.once('close', (exitCode) => {
        this.hasEnded = true
        this.#settle?.({ exitCode, ...this.#said })
        resolve()
      })
    })
  }

  get isBusy(): boolean {
    return this.#settle !== undefined
  }

  run(command: HostedCommand): Promise<Ended> {
    Object.assign(this.#said, { stdout: '', stderr: '' })
    this.#exitCode = undefined
    return new Promise((settle) => {
      this.#settle = settle
      this.#child.send(command)
    })
  }

  end(): Promise<void> {
    this.#child.kill('SIGKILL')
    return this.#closed
  }

  #settleIfOver(): void {
    const [exitCode, { stdout, stderr }] = [this.#exitCode, this.#said]
    if (exitCode === undefined || !stdout.endsWith(END) || !stderr.endsWith(END)) return
    this.#settle?.({ exitCode, stdout: stdout.slice(0, -END.length), stderr: stderr.slice(0, -END.length) })
    this.#settle = undefined
  }
}

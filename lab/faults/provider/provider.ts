import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { forgetProcess, recordProcess } from '../../../test/kit/servers/test-run.ts'
import { bundledProgram } from '../../kit/worker/bundled.ts'
import { askProvider } from './ask.ts'
import type { LoggedEffect } from './protocol.ts'

/** Starts the provider process, and reads its log. */
export class Provider implements AsyncDisposable {
  readonly port: number
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, port: number) {
    this.#child = child
    this.port = port
  }

  static async start(): Promise<Provider> {
    const program = bundledProgram(new URL('program.ts', import.meta.url))
    const child = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'inherit'] })
    if (child.pid !== undefined) recordProcess(child.pid, 'SIGKILL')
    child.stdin.on('error', () => {})
    const ended = once(child, 'exit').then((how) => {
      throw new Error(`the provider ended before it listened: ${how.join(' ')}`)
    })
    const [line]: unknown[] = await Promise.race([once(child.stdout, 'data'), ended])
    ended.catch(() => {}) // The process is killed at the end.
    return new Provider(child, Number(String(line)))
  }

  async effects(log: string): Promise<readonly LoggedEffect[]> {
    const reply = await askProvider(this.port, { ask: 'log', log }, 10_000)
    return 'effects' in reply ? reply.effects : []
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL')
    await once(this.#child, 'exit')
    if (this.#child.pid !== undefined) forgetProcess(this.#child.pid)
  }
}

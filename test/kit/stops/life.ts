import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { forgetProcess, recordProcess } from '../servers/test-run.ts'
import type { ProgramName, StopLine, StopSpec } from './spec.ts'
import { stopProgram } from './stop-program.ts'

/** How a process lived: from its start to its end by itself. */
export class Life {
  /** `exit code 0`, or the signal that ended it. */
  readonly end: string
  readonly stderr: string
  readonly #lines: readonly StopLine[]

  private constructor(end: string, lines: readonly StopLine[], stderr: string) {
    this.end = end
    this.stderr = stderr
    this.#lines = lines
  }

  /** Resolves when the process has ended. It is killed if that takes too long. */
  static async of(program: ProgramName, spec: StopSpec): Promise<Life> {
    const child = spawn(process.execPath, [stopProgram(program)], {
      env: { ...process.env, NODE_OPTIONS: '', STOP_SPEC: JSON.stringify(spec) },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: ENDS_WITHIN_MS,
      killSignal: 'SIGKILL',
    })
    const { pid, stdout, stderr } = child
    if (pid !== undefined) recordProcess(pid, 'SIGKILL')
    const lines: StopLine[] = []
    let errors = ''
    stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
    const read = createInterface({ input: stdout }).on('line', (line) => lines.push(JSON.parse(line) as StopLine))
    const [[code, signal]] = await Promise.all([once(child, 'close'), once(read, 'close')])
    if (pid !== undefined) forgetProcess(pid)
    return new Life(String(signal ?? `exit code ${String(code)}`), lines, errors)
  }

  /** What happened, in order. */
  get story(): readonly string[] {
    return this.#lines.map(({ what, id }) => (id === undefined ? what : `${what}: ${id}`))
  }

  told(what: string): readonly string[] {
    return this.#lines.filter((line) => line.what === what).map(({ id = '' }) => id)
  }
}

/** Longer than each stop may take: only a process that hangs is killed. */
const ENDS_WITHIN_MS = 100_000

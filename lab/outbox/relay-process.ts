import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compiled } from '../../test/kit/compiled.ts'

export interface ProgramSpec {
  readonly on: 'postgres' | 'mariadb'
  readonly url: string
  /** Of Postgres. */
  readonly schema: string
  readonly file: string
  /** How long its broker takes to confirm. */
  readonly publishMs: number
  readonly dieAt?: 'before commit' | 'after commit' | 'after publish' | 'after confirm'
}

const PROGRAM = compiled(new URL('program.ts', import.meta.url))

export class RelayProcess implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly #ended: Promise<unknown[]>
  readonly #started: Promise<unknown[]>

  constructor(spec: ProgramSpec) {
    this.#child = fork(PROGRAM, [JSON.stringify(spec)])
    this.#ended = once(this.#child, 'exit')
    this.#started = once(this.#child, 'message')
  }

  async untilStarted(): Promise<void> {
    await this.#started
  }

  /** Resolves with the signal that has ended it. */
  async ended(): Promise<unknown> {
    return (await this.#ended)[1]
  }

  freeze(): void {
    this.#child.kill('SIGSTOP')
  }

  thaw(): void {
    this.#child.kill('SIGCONT')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#ended
  }
}

/** What the broker of these processes has taken: `id key number` in each line. */
export class BrokerFile implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'consume-once-outbox-'))
  readonly path: string = join(this.#folder, 'broker')

  constructor() {
    writeFileSync(this.path, '')
  }

  get taken(): readonly { readonly id: string; readonly key: string; readonly n: number }[] {
    const lines = readFileSync(this.path, 'utf8').split('\n').slice(0, -1)
    return lines.map((line) => {
      const [id = '', key = '', n = ''] = line.split(' ')
      return { id, key, n: Number(n) }
    })
  }

  /** What is wrong: not each of so many was taken, or of one key a later one was taken first. */
  wrong(count: number): readonly string[] {
    const last = new Map<string, number>()
    const seen = new Set<string>()
    const wrong: string[] = []
    for (const { id, key, n } of this.taken) {
      if (seen.has(id)) continue
      seen.add(id)
      if (n < (last.get(key) ?? -1)) wrong.push(`${id} of ${key} was taken after ${last.get(key)}`)
      last.set(key, n)
    }
    return seen.size === count ? wrong : [...wrong, `${seen.size} of ${count} were taken`]
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true })
  }
}

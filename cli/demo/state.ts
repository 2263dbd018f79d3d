import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { refusal } from '../exit.ts'
import { given } from './failures.ts'
import { messagesIn, type Input, type InputMessage } from './input.ts'
import { ndjson, readNdjson, type DeadLetterRow } from './ledger.ts'

interface Manifest {
  readonly format: 2
  /** Name of topic, queue, group, schema and key prefix. */
  readonly namespace: string
  readonly store: string
}

const OF_ALL_RUNS = ['inputs', 'provider.ndjson', 'dead-letters.ndjson']

/** An input of which something may not be settled yet. */
const OPEN = '.open.ndjson'
const SETTLED = '.ndjson'

/** The folder of a demo, with everything that a later run must know. A demo may be killed at any time. */
export class DemoState {
  readonly namespace: string
  /** An earlier run left something here. */
  readonly resumed: boolean
  readonly #dir: string

  private constructor(dir: string, namespace: string, resumed: boolean) {
    this.#dir = dir
    this.namespace = namespace
    this.resumed = resumed
  }

  /** @throws CommandError */
  static async open(path: string, store: string): Promise<DemoState> {
    const dir = resolve(path)
    const manifest = join(dir, 'demo.json')
    const advice = 'Give another folder by --state DIR. '
    const known = await given(
      `--state ${path}`,
      () => {
        mkdirSync(join(dir, 'inputs'), { recursive: true })
        return existsSync(manifest) ? manifestIn(readFileSync(manifest, 'utf8')) : undefined
      },
      advice,
    )
    lock(join(dir, 'lock'))
    if (known !== undefined && known.store !== store) {
      const why = `With ${store} nothing of it would be known and every effect would happen again.`
      throw refusal(`${dir} belongs to a demo with --store ${known.store}. ${why} ${advice}`)
    }
    // A memory store loses its records on exit, so messages that were handled with it do not belong to this run.
    if (store === 'memory') for (const name of OF_ALL_RUNS) rmSync(join(dir, name), { recursive: true, force: true })
    mkdirSync(join(dir, 'inputs'), { recursive: true })
    const namespace = known?.namespace ?? `demo_${randomBytes(5).toString('hex')}`
    const state = new DemoState(dir, namespace, readdirSync(join(dir, 'inputs')).length > 0)
    state.#write('demo.json', JSON.stringify({ format: 2, namespace, store } satisfies Manifest))
    return state
  }

  path(...names: readonly string[]): string {
    return join(this.#dir, ...names)
  }

  /** Messages of earlier runs on other inputs that may be unsettled: a broker in memory has lost them. */
  leftover({ sha256 }: Input): Promise<InputMessage[]> {
    return this.#messages((name) => name.endsWith(OPEN) && !name.startsWith(sha256))
  }

  /** The messages of all inputs of this state. */
  allMessages(): Promise<InputMessage[]> {
    return this.#messages((name) => name.endsWith(SETTLED))
  }

  /** Saves an input, before any of it is produced. */
  add({ sha256, bytes }: Input): void {
    this.#write(join('inputs', `${sha256}${OPEN}`), bytes)
    rmSync(this.path('inputs', `${sha256}${SETTLED}`), { force: true })
  }

  /** Everything produced so far is settled. */
  settled(): void {
    for (const name of readdirSync(this.path('inputs')).filter((input) => input.endsWith(OPEN)))
      renameSync(this.path('inputs', name), this.path('inputs', name.replace(OPEN, SETTLED)))
  }

  /** Keeps the dead letters of all runs: those of a server are read again each time. Returns all of them. */
  keepDeadLetters(source: string, rows: readonly DeadLetterRow[]): readonly DeadLetterRow[] {
    const known = readNdjson<DeadLetterRow>(this.path('dead-letters.ndjson'))
    const all = [...known.filter((row) => row.source === 'memory' || row.source !== source), ...rows]
    this.#write('dead-letters.ndjson', ndjson(all))
    return all
  }

  close(): void {
    rmSync(this.path('lock'), { force: true })
  }

  async #messages(wanted: (name: string) => boolean): Promise<InputMessage[]> {
    const paths = readdirSync(this.path('inputs'))
      .filter(wanted)
      .map((name) => this.path('inputs', name))
    return (await Promise.all(paths.map((path) => messagesIn(readFileSync(path), path)))).flat()
  }

  /** Atomic. */
  #write(name: string, content: string | Buffer): void {
    writeFileSync(this.path('new'), content)
    renameSync(this.path('new'), this.path(name))
  }
}

function manifestIn(text: string): Manifest {
  const manifest = JSON.parse(text) as Manifest
  if (manifest.format === 2) return manifest
  throw new TypeError(`demo.json has format ${String(manifest.format)}, expected 2`)
}

/** Two demos in one folder would share its files. The lock of a dead process is taken over. */
function lock(path: string): void {
  const owner = existsSync(path) ? Number(readFileSync(path, 'utf8')) : Number.NaN
  try {
    process.kill(owner, 0)
  } catch {
    return writeFileSync(path, String(process.pid))
  }
  const advice = `wait for it, or remove ${path}`
  throw refusal(`another demo (process ${owner}) runs on this state: ${advice}`)
}

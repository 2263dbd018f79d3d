import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync, existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { CommandError, EXIT } from '../exit.ts'
import type { DemoRequest, SourceName, StoreName } from './request.ts'
import { readNdjson } from './effects.ts'
import type { DeadLetterRow } from './sources/demo-source.ts'
import { parseInput, type Input, type InputMessage } from './envelope.ts'

interface Manifest {
  readonly format: 1
  /** Name of topic, queue, group, schema and key prefix. */
  readonly namespace: string
  readonly store: StoreName
  /** Inputs that were produced and may not be drained yet. Only a broker that loses its messages needs them again. */
  readonly undrained: readonly string[]
}

/** The folder of a demo, with everything that a later run must know. */
export class DemoState {
  readonly dir: string
  /** An earlier run left something here. */
  readonly resumed: boolean
  #manifest: Manifest

  private constructor(dir: string, manifest: Manifest, resumed: boolean) {
    this.dir = dir
    this.resumed = resumed
    this.#manifest = manifest
  }

  static open({ state, store }: DemoRequest): DemoState {
    const dir = resolve(state)
    try {
      mkdirSync(join(dir, 'inputs'), { recursive: true })
      mkdirSync(join(dir, 'dead-letters'), { recursive: true })
    } catch (cause) {
      throw new CommandError(EXIT.usage, `cannot make the state folder ${dir}: ${String(cause)}`, { cause })
    }
    lock(join(dir, 'lock'))
    const path = join(dir, 'demo.json')
    const manifest = existsSync(path) ? readManifest(path) : undefined
    if (manifest !== undefined) {
      if (manifest.store !== store) {
        throw new CommandError(
          EXIT.refused,
          `${dir} belongs to a demo with --store ${manifest.store}. With ${store} nothing of it would be known and every effect ` +
            'would happen again. Give another folder by --state DIR.',
        )
      }
      if (store !== 'memory') return new DemoState(dir, manifest, readdirSync(join(dir, 'inputs')).length > 0)
      forget(dir)
    }
    const namespace = `demo_${randomBytes(5).toString('hex')}`
    const fresh = new DemoState(dir, { format: 1, namespace, store, undrained: [] }, false)
    fresh.#save()
    return fresh
  }

  get namespace(): string {
    return this.#manifest.namespace
  }

  path(...names: readonly string[]): string {
    return join(this.dir, ...names)
  }

  /** Messages of earlier runs on other inputs that may be unsettled. */
  leftover({ sha256 }: Input): readonly InputMessage[] {
    const others = this.#manifest.undrained.filter((undrained) => undrained !== sha256)
    return others.flatMap((undrained) => this.#messagesOf(`${undrained}.ndjson`))
  }

  /** Saves an input, before any of it is produced. */
  add(input: Input): void {
    const path = this.path('inputs', `${input.sha256}.ndjson`)
    if (!existsSync(path)) writeFileSync(path, input.bytes)
    const others = this.#manifest.undrained.filter((sha256) => sha256 !== input.sha256)
    this.#manifest = { ...this.#manifest, undrained: [...others, input.sha256] }
    this.#save()
  }

  /** Everything produced so far is settled. */
  drained(): void {
    this.#manifest = { ...this.#manifest, undrained: [] }
    this.#save()
  }

  /** The messages of all inputs of this state. */
  allMessages(): InputMessage[] {
    return readdirSync(this.path('inputs')).flatMap((name) => this.#messagesOf(name))
  }

  /** Writes the dead letters of one source; the file lists those of all sources. */
  writeDeadLetters(source: SourceName, rows: readonly DeadLetterRow[]): readonly DeadLetterRow[] {
    writeFileSync(this.path('dead-letters', `${source}.ndjson`), rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
    const all = readdirSync(this.path('dead-letters')).flatMap((name) =>
      readNdjson<DeadLetterRow>(this.path('dead-letters', name)),
    )
    writeFileSync(this.path('dead-letters.ndjson'), all.map((row) => `${JSON.stringify(row)}\n`).join(''))
    return all
  }

  close(): void {
    rmSync(this.path('lock'), { force: true })
  }

  #messagesOf(name: string): InputMessage[] {
    const path = this.path('inputs', name)
    return parseInput(readFileSync(path), path)
  }

  /** Atomic: a demo may be killed at any time. */
  #save(): void {
    const path = this.path('demo.json')
    writeFileSync(`${path}.new`, `${JSON.stringify(this.#manifest, undefined, 2)}\n`)
    renameSync(`${path}.new`, path)
  }
}

function readManifest(path: string): Manifest {
  try {
    const manifest = JSON.parse(readFileSync(path, 'utf8')) as Manifest
    if (manifest.format === 1) return manifest
    throw new TypeError(`format ${String(manifest.format)}, expected 1`)
  } catch (cause) {
    throw new CommandError(
      EXIT.usage,
      `${path} cannot be read: ${String(cause)}. Give another folder by --state DIR.`,
      { cause },
    )
  }
}

/** A memory store loses its records on exit, so messages that were handled with it do not belong to this run. */
function forget(dir: string): void {
  for (const name of ['demo.json', 'provider.ndjson', 'dead-letters.ndjson']) rmSync(join(dir, name), { force: true })
  for (const folder of ['inputs', 'dead-letters']) {
    rmSync(join(dir, folder), { recursive: true, force: true })
    mkdirSync(join(dir, folder))
  }
}

/** Two demos in one folder would share its files. A lock of a dead process is taken over. */
function lock(path: string): void {
  for (;;) {
    try {
      writeFileSync(path, String(process.pid), { flag: 'wx' })
      return
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause
      const owner = Number(readFileSync(path, 'utf8'))
      if (owner !== process.pid && isAlive(owner)) {
        throw new CommandError(
          EXIT.refused,
          `another demo (process ${owner}) runs on this state: wait for it, or remove ${path}`,
          { cause },
        )
      }
      rmSync(path, { force: true })
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

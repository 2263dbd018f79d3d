import { mkdtempSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { indexOf } from '../../tally.ts'

export interface Effect {
  readonly id: number
  /** Which of the workers, one after the other: 0, 1, 2, ... */
  readonly worker: number
}

/** ID and worker. */
const BYTES = 8

/** Returns what does the effect of a message. When that returns the kernel has it: it outlives a kill of this process. */
export function effectsInto(file: string, worker: number): (id: unknown) => void {
  const descriptor = openSync(file, 'a')
  const bytes = Buffer.alloc(BYTES)
  bytes.writeUInt32LE(worker, 4)
  return (id) => {
    bytes.writeUInt32LE(indexOf(id), 0)
    writeSync(descriptor, bytes)
  }
}

/** The effects of all workers of one run, in the order in which they happened. They go with it. */
export class Effects implements Disposable {
  readonly file: string

  constructor() {
    this.file = join(mkdtempSync(join(tmpdir(), 'bench-effects-')), 'effects')
    openSync(this.file, 'w')
  }

  count(): number {
    return statSync(this.file).size / BYTES
  }

  all(): readonly Effect[] {
    const bytes = readFileSync(this.file)
    return Array.from({ length: bytes.length / BYTES }, (_, at) => ({
      id: bytes.readUInt32LE(at * BYTES),
      worker: bytes.readUInt32LE(at * BYTES + 4),
    }))
  }

  [Symbol.dispose](): void {
    rmSync(dirname(this.file), { recursive: true })
  }
}

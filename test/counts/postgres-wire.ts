import type { Listener } from '../kit/fault-proxy.ts'
import type { Counted } from './expected.ts'
import { Frames, sizeOf } from './frames.ts'

/** A letter, and a length that counts itself. The first message of a client has no letter. */
const HEADER = 5

/** Counts what clients and Postgres say on all connections: the end of each request, of each statement, and each row. */
export class PostgresWire {
  #requests = 0
  #statements = 0
  #transactions = 0
  #rows = 0
  #sent = 0
  #received = 0

  get counts(): Counted {
    return {
      'round trips': this.#requests,
      statements: this.#statements,
      transactions: this.#transactions,
      'rows returned': this.#rows,
      'bytes sent': this.#sent,
      'bytes received': this.#received,
    }
  }

  connection(): Listener {
    let hasBegun = false
    const asked = new Frames(
      (bytes) => lengthOf(bytes, hasBegun),
      (frame) => {
        hasBegun = true
        this.#sent += HEADER + sizeOf(frame.subarray(HEADER))
      },
    )
    const answered = new Frames(
      (bytes) => lengthOf(bytes, true),
      (frame) => {
        this.#received += HEADER + sizeOf(frame.subarray(HEADER))
        this.#answer(String.fromCharCode(frame[0] ?? 0), frame)
      },
    )
    return { fromClient: (bytes) => asked.read(bytes), fromServer: (bytes) => answered.read(bytes), closed: () => {} }
  }

  #answer(kind: string, frame: Buffer): void {
    if (kind === 'Z') this.#requests++
    if (kind === 'D') this.#rows++
    if (kind !== 'C') return
    this.#statements++
    if (/^(COMMIT|ROLLBACK)\0/.test(frame.toString('latin1', HEADER))) this.#transactions++
  }
}

function lengthOf(bytes: Buffer, hasLetter: boolean): number | undefined {
  const at = hasLetter ? 1 : 0
  return bytes.length < at + 4 ? undefined : at + bytes.readUInt32BE(at)
}

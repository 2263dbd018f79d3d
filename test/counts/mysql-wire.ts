import type { Listener } from '../kit/fault-proxy.ts'
import type { Counted } from './expected.ts'
import { Frames, sizeOf } from './frames.ts'

/** Three bytes of length, and the number of the packet in its command. */
const HEADER = 4

/** Counts what clients and MariaDB say on all connections: each command, which is one request. */
export class MysqlWire {
  #requests = 0
  #sent = 0
  #received = 0

  get counts(): Counted {
    return { 'round trips': this.#requests, 'bytes sent': this.#sent, 'bytes received': this.#received }
  }

  connection(): Listener {
    const asked = new Frames(lengthOf, (frame) => {
      if (frame[3] === 0) this.#requests++
      this.#sent += HEADER + sizeOf(frame.subarray(HEADER))
    })
    const answered = new Frames(lengthOf, (frame) => {
      this.#received += HEADER + sizeOf(frame.subarray(HEADER))
    })
    return { fromClient: (bytes) => asked.read(bytes), fromServer: (bytes) => answered.read(bytes), closed: () => {} }
  }
}

function lengthOf(bytes: Buffer): number | undefined {
  return bytes.length < HEADER ? undefined : HEADER + bytes.readUIntLE(0, 3)
}

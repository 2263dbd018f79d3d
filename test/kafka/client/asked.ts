import type { Socket } from 'node:net'

interface Request {
  /** Of the protocol: it is in each request behind its length. */
  readonly key: number
  /** By `performance.now()`. */
  readonly at: number
}

/** The requests that go out on each connection of a client. */
export class Asked extends Set<Socket> {
  readonly #requests = new Map<Socket, Request[]>()

  override add(socket: Socket): this {
    const requests: Request[] = []
    const write = socket.write.bind(socket)
    socket.write = (bytes: Uint8Array | string, ...others: never[]) => {
      requests.push({ key: Buffer.from(bytes as Uint8Array).readInt16BE(4), at: performance.now() })
      return write(bytes, ...others)
    }
    this.#requests.set(socket, requests)
    return super.add(socket)
  }

  /** When each of these was sent, on whichever connection. */
  times(key: number): readonly number[] {
    return [...this.#requests.values()]
      .flat()
      .filter((request) => request.key === key)
      .map(({ at }) => at)
      .toSorted((a, b) => a - b)
  }

  /** What else goes out where one of these does. */
  beside(key: number): ReadonlySet<number> {
    const keys = [...this.#requests.values()].map((requests) => requests.map((request) => request.key))
    return new Set(keys.filter((sent) => sent.includes(key)).flat())
  }
}

import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/**
 * What happens to the next exchange. `reply`: the request arrives, its reply is lost with the connection. `request`: the
 * connection is lost before the request arrives. `silence`: nothing arrives any more, in neither direction, and nothing says so.
 */
export type Fault = 'reply' | 'request' | 'silence'

/** A TCP proxy on loopback that breaks when it is told to. */
export interface FaultyLine {
  readonly port: number
  /** Faults that have happened. */
  readonly faults: number
  breakNext(fault: Fault): void
  /** Ends silence: connections that were silent are lost. */
  mend(): void
  stop(): Promise<void>
}

export async function startFaultyLine(targetPort: number): Promise<FaultyLine> {
  const held = new Set<Socket>()
  const silent = new Set<Socket>()
  let armed: Fault | undefined
  let faults = 0

  const happens = (...kinds: readonly Fault[]): boolean => {
    if (armed === undefined || !kinds.includes(armed)) return false
    armed = undefined
    faults++
    return true
  }
  const listener = createServer((client) => {
    const upstream = connect(targetPort, '127.0.0.1')
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      held.add(socket)
      socket.on('error', () => socket.destroy())
      socket.on('close', () => {
        held.delete(socket)
        other.destroy()
      })
    }
    client.on('data', (request) => {
      const isSilence = armed === 'silence'
      if (happens('request', 'silence')) {
        if (isSilence) silent.add(client)
        else client.destroy()
      } else if (!silent.has(client)) upstream.write(request)
    })
    upstream.on('data', (reply) => {
      if (happens('reply')) client.destroy()
      else if (!silent.has(client)) client.write(reply)
    })
  })
  await new Promise<void>((resolve) => void listener.listen(0, '127.0.0.1', resolve))
  return {
    port: (listener.address() as AddressInfo).port,
    get faults() {
      return faults
    },
    breakNext: (fault) => {
      armed = fault
    },
    mend: () => {
      for (const client of silent) client.destroy()
      silent.clear()
    },
    stop: () =>
      new Promise((resolve) => {
        listener.close(() => resolve())
        for (const socket of held) socket.destroy()
      }),
  }
}

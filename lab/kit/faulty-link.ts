import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/**
 * What becomes of one request. `cut before`: the connection is lost and the server never hears of it. `cut after`: the server
 * acts on it and the connection is lost with the reply. `swallowed`: the reply never comes, and nothing tells.
 */
export type Fault = 'cut before' | 'cut after' | 'swallowed'

/** A TCP proxy on loopback for one server. */
export interface FaultyLink extends AsyncDisposable {
  readonly port: number
  /** How many faults have happened. */
  readonly happened: number
  /** The next request, on whichever connection, meets it, after so many that do not. */
  next(fault: Fault, after?: number): void
}

export async function startFaultyLink(targetPort: number): Promise<FaultyLink> {
  const held = new Set<Socket>()
  let armed: Fault | undefined
  let spared = 0
  let happened = 0
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
    let fault: Fault | undefined
    client.on('data', (request) => {
      if (armed !== undefined && spared-- === 0) {
        fault = armed
        armed = undefined
      }
      if (fault !== 'cut before') return void upstream.write(request)
      happened++
      client.destroy()
    })
    upstream.on('data', (reply) => {
      if (fault === undefined) return void client.write(reply)
      happened++
      if (fault === 'cut after') client.destroy()
    })
  })
  await new Promise<void>((resolve) => void listener.listen(0, '127.0.0.1', resolve))
  return {
    port: (listener.address() as AddressInfo).port,
    get happened() {
      return happened
    },
    next: (fault, after = 0) => {
      armed = fault
      spared = after
    },
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        listener.close(() => resolve())
        for (const socket of held) socket.destroy()
      }),
  }
}

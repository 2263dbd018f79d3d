import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** A TCP proxy on loopback that loses replies, and freezes: what is sent arrives later, when its sender has given up. */
export interface FreezingProxy {
  readonly port: number
  /** The reply to the n-th message from now is lost, and its connection with it; what it answers has happened. */
  loseReplyTo(nth: number): void
  /** Nothing that clients send arrives from their n-th message on. A connection that its client closes stays open on the other side. */
  freeze(nth?: number): void
  /** All that was kept back arrives, in its order; what its sender has closed is closed after it. */
  thaw(): void
  /** Destroys every connection on both sides. */
  cut(): void
  stop(): Promise<void>
}

export async function startFreezingProxy(targetPort: number): Promise<FreezingProxy> {
  const sockets = new Set<Socket>()
  const kept: (() => void)[] = []
  let isFrozen = false
  let messagesToFrost = 0
  const lossy = new Set<Socket>()
  let messagesToGo = 0
  const now = (send: () => void): void => {
    if (isFrozen) kept.push(send)
    else send()
  }
  const listener = createServer((client) => {
    const upstream = connect(targetPort, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
      socket.on('close', () => sockets.delete(socket))
    }
    client.on('data', (bytes) => {
      if (messagesToGo > 0 && --messagesToGo === 0) lossy.add(upstream)
      if (messagesToFrost > 0 && --messagesToFrost === 0) isFrozen = true
      now(() => void upstream.write(bytes))
    })
    client.on('close', () => now(() => void upstream.end()))
    upstream.on('close', () => client.destroy())
    upstream.on('data', (reply) => {
      if (lossy.delete(upstream)) client.destroy()
      else if (!client.destroyed) client.write(reply)
    })
  })
  await new Promise<void>((resolve) => void listener.listen(0, '127.0.0.1', resolve))
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (listener.address() as AddressInfo).port,
    loseReplyTo: (nth) => {
      messagesToGo = nth
    },
    freeze: (nth = 1) => {
      messagesToFrost = nth
    },
    thaw: () => {
      isFrozen = false
      messagesToFrost = 0
      for (const send of kept.splice(0)) send()
    },
    cut,
    stop: () =>
      new Promise((resolve) => {
        listener.close(() => resolve())
        cut()
      }),
  }
}

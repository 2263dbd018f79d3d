import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

/**
 * What becomes of one request. `cut before`: the connection is lost and the server never gets it. `cut after`: the server acts on
 * it, and the connection is lost with the reply. `swallowed`: no reply of the connection comes any more. `silence`: nothing comes
 * through the connection any more, in neither direction. The last two tell nobody.
 */
export type Fault = 'cut before' | 'cut after' | 'swallowed' | 'silence'

/** A TCP proxy on loopback for one server, which loses, delays and refuses when told to. */
export interface FaultProxy extends AsyncDisposable {
  readonly port: number
  /** Connections held at this moment. */
  readonly connections: number
  /** How often a fault of `breakNext` has happened. */
  readonly faults: number
  /** Destroys every connection on both sides; bytes under way are lost. New connections are served as before. */
  cut(): void
  /** New connections are destroyed at once; those held stay. */
  refuse(): void
  /** Ends `refuse`. */
  accept(): void
  /** The next request, on whichever connection, meets the fault, after so many that do not. */
  breakNext(fault: Fault, after?: number): void
  /** Ends silence: connections that were silent are lost. */
  mend(): void
  /** Nothing that clients send arrives from their n-th message on. A connection that its client closes stays open on the other side. */
  freeze(nth?: number): void
  /** All that was kept back arrives, in its order; what its sender has closed is closed after it. */
  thaw(): void
  stop(): Promise<void>
}

/** Hears what one connection carries, each piece before the other side gets it. */
export interface Listener {
  readonly fromClient: (bytes: Buffer) => void
  readonly fromServer: (bytes: Buffer) => void
  readonly closed: () => void
}

/**
 * Forwards bytes to `targetPort` on 127.0.0.1, from a free port of its own. `listenIn` is asked once for each connection that
 * is served.
 */
export async function startFaultProxy(targetPort: number, listenIn?: () => Listener): Promise<FaultProxy> {
  const held = new Set<Socket>()
  const upstreams = new Set<Socket>()
  const silent = new Set<Socket>()
  const kept: (() => void)[] = []
  let isRefusing = false
  let isFrozen = false
  let untilFrost = 0
  let armed: { readonly fault: Fault; spared: number } | undefined
  let faults = 0

  const faultOfNext = (): Fault | undefined => {
    if (armed === undefined || armed.spared-- > 0) return undefined
    const { fault } = armed
    armed = undefined
    return fault
  }
  const now = (act: () => void): void => {
    if (isFrozen) kept.push(act)
    else act()
  }

  const listener = createServer((client) => {
    client.on('error', () => client.destroy())
    if (isRefusing) {
      client.destroy()
      return
    }
    const upstream = connect(targetPort, '127.0.0.1')
    const ears = listenIn?.()
    let met: Fault | undefined
    held.add(client)
    client.on('data', (request: Buffer) => {
      ears?.fromClient(request)
      if (untilFrost > 0 && --untilFrost === 0) isFrozen = true
      const fault = faultOfNext()
      met = fault ?? met
      if (fault === 'cut before' || fault === 'silence') faults++
      if (fault === 'cut before') client.destroy()
      else if (fault === 'silence') silent.add(client)
      else if (!silent.has(client)) now(() => forward(request, client, upstream))
    })
    client.on('close', () => {
      held.delete(client)
      silent.delete(client)
      ears?.closed()
      now(() => void upstream.end())
    })
    upstream.on('data', (reply: Buffer) => {
      ears?.fromServer(reply)
      if (met === 'cut after' || met === 'swallowed') faults++
      if (met === 'cut after') client.destroy()
      else if (met !== 'swallowed' && !silent.has(client)) forward(reply, upstream, client)
    })
    upstream.on('error', () => upstream.destroy())
    upstreams.add(upstream)
    upstream.on('close', () => {
      upstreams.delete(upstream)
      client.destroy()
    })
  })
  const port = await listen(listener)

  const cut = (): void => {
    for (const socket of [...held, ...upstreams]) socket.destroy()
  }
  let stopping: Promise<void> | undefined
  const stop = (): Promise<void> => {
    stopping ??= new Promise((resolve) => {
      listener.close(() => resolve())
      cut()
    })
    return stopping
  }
  return {
    port,
    get connections() {
      return held.size
    },
    get faults() {
      return faults
    },
    cut,
    refuse: () => {
      isRefusing = true
    },
    accept: () => {
      isRefusing = false
    },
    breakNext: (fault, after = 0) => {
      armed = { fault, spared: after }
    },
    mend: () => {
      for (const client of silent) client.destroy()
    },
    freeze: (nth = 1) => {
      untilFrost = nth
    },
    thaw: () => {
      isFrozen = false
      untilFrost = 0
      for (const act of kept.splice(0)) act()
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/** Keeps the pressure of a receiver that does not read. */
function forward(bytes: Buffer, from: Socket, to: Socket): void {
  if (to.destroyed || to.writableEnded || to.write(bytes)) return
  from.pause()
  to.once('drain', () => from.resume())
}

function listen(listener: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    listener.once('error', reject)
    listener.listen(0, '127.0.0.1', () => resolve((listener.address() as AddressInfo).port))
  })
}

import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

/**
 * What happens to one request. `cut before`: the connection breaks before the server gets the request. `cut after`: the server acts on
 * it, and the connection breaks before the reply arrives. `swallowed`: the connection carries no replies any more. `silence`: it carries
 * nothing any more, in either direction. The last two raise no error.
 */
export type Fault = 'cut before' | 'cut after' | 'swallowed' | 'silence'

/** A TCP proxy on loopback for one server, which drops, delays and refuses on request. */
export interface FaultProxy extends AsyncDisposable {
  readonly port: number
  /** Number of open connections. */
  readonly connections: number
  /** Number of faults of `breakNext` that have happened. */
  readonly faults: number
  /** Destroys every connection on both sides; bytes in flight are lost. New connections are served. */
  cut(): void
  /** Destroys new connections at once. Open connections stay. */
  refuse(): void
  /** Ends `refuse`. */
  accept(): void
  /** Injects the fault into the next request of any connection, after `after` requests without a fault. */
  breakNext(fault: Fault, after?: number): void
  /** Ends silence: breaks silent connections. */
  mend(): void
  /** Holds what clients send, from the n-th message on. A connection that its client closes stays open on the server side. */
  freeze(nth?: number): void
  /** Forwards all held bytes in order, and then closes connections that their client has closed. */
  thaw(): void
  stop(): Promise<void>
}

/** Reads one connection, each piece before the other side gets it. */
export interface Listener {
  readonly fromClient: (bytes: Buffer) => void
  readonly fromServer: (bytes: Buffer) => void
  readonly closed: () => void
}

/**
 * Forwards bytes from a free port to `targetPort` on 127.0.0.1. `listenIn` is called once for each connection.
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

  const server = createServer((client) => {
    client.on('error', () => client.destroy())
    if (isRefusing) {
      client.destroy()
      return
    }
    const upstream = connect(targetPort, '127.0.0.1')
    const listener = listenIn?.()
    let met: Fault | undefined
    held.add(client)
    client.on('data', (request: Buffer) => {
      listener?.fromClient(request)
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
      listener?.closed()
      now(() => void upstream.end())
    })
    upstream.on('data', (reply: Buffer) => {
      listener?.fromServer(reply)
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
  const port = await listen(server)

  const cut = (): void => {
    for (const socket of [...held, ...upstreams]) socket.destroy()
  }
  let stopping: Promise<void> | undefined
  const stop = (): Promise<void> => {
    stopping ??= new Promise((resolve) => {
      server.close(() => resolve())
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

/** A proxy for the server of a URL: `url` is the same one through the proxy. */
export interface ProxyOf extends FaultProxy {
  readonly url: string
}

export async function startProxyOf(served: string, defaultPort: number, listenIn?: () => Listener): Promise<ProxyOf> {
  const url = new URL(served)
  const proxy = await startFaultProxy(Number(url.port || defaultPort), listenIn)
  url.hostname = '127.0.0.1'
  url.port = String(proxy.port)
  return Object.assign(proxy, { url: url.href })
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

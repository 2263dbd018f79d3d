import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

/** A TCP proxy on loopback that loses connections when told to, so that a reply can be lost without a dead server. */
export interface CuttingProxy extends AsyncDisposable {
  readonly port: number
  /** Connections held at this moment. */
  readonly connections: number
  /** Destroys every connection on both sides; bytes under way are lost. New connections are served as before. */
  cut(): void
  /** New connections are destroyed at once; those held stay. */
  refuse(): void
  /** Ends `refuse`. */
  accept(): void
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
export async function startCuttingProxy(targetPort: number, listenIn?: () => Listener): Promise<CuttingProxy> {
  const held = new Set<Socket>()
  let refusing = false

  const listener = createServer((client) => {
    client.on('error', () => client.destroy())
    if (refusing) {
      client.destroy()
      return
    }
    const upstream = connect(targetPort, '127.0.0.1')
    held.add(client)
    client.on('close', () => {
      held.delete(client)
      upstream.destroy()
    })
    upstream.on('error', () => upstream.destroy())
    upstream.on('close', () => client.destroy())
    if (listenIn !== undefined) attach(listenIn(), client, upstream)
    client.pipe(upstream).pipe(client)
  })
  const port = await listen(listener)

  const cut = (): void => {
    for (const client of held) client.destroy()
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
    cut,
    refuse: () => {
      refusing = true
    },
    accept: () => {
      refusing = false
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

function attach(listener: Listener, client: Socket, upstream: Socket): void {
  client.on('data', (bytes: Buffer) => listener.fromClient(bytes))
  upstream.on('data', (bytes: Buffer) => listener.fromServer(bytes))
  client.on('close', () => listener.closed())
}

function listen(listener: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    listener.once('error', reject)
    listener.listen(0, '127.0.0.1', () => resolve((listener.address() as AddressInfo).port))
  })
}

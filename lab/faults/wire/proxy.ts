import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import type { Listener, Seen } from './listener.ts'

/**
 * What the proxy does with bytes. `hold`: they wait, and so do all later bytes of their direction. `lose`: the connection breaks before
 * they arrive. `swallow`: the connection carries nothing any more, in either direction, without an error. `refuse`: the server gets
 * changed bytes that it must refuse.
 */
export type Action = 'pass' | 'hold' | 'lose' | 'swallow' | 'refuse'

export interface WireProxyParts {
  readonly targetPort: number
  /** Makes the listener of a connection. */
  readonly listener: (connection: number) => Listener
  /** Called before the other side gets the bytes. */
  readonly judge: (seen: Seen) => Action
  /** Called when the other side has got the bytes. */
  readonly arrived: (seen: Seen) => void
}

interface Piece {
  readonly bytes: Buffer
  readonly seen: readonly Seen[]
}

/** A TCP proxy on loopback between one process and one server, which understands the protocol. */
export class WireProxy implements AsyncDisposable {
  readonly #parts: WireProxyParts
  readonly #server = createServer((client) => this.#serve(client))
  readonly #connections = new Set<Connection>()
  #count = 0
  #isSilent = false
  #targetPort: number | undefined

  private constructor(parts: WireProxyParts) {
    this.#parts = parts
    this.#targetPort = parts.targetPort
  }

  static async open(parts: WireProxyParts): Promise<WireProxy> {
    const proxy = new WireProxy(parts)
    await new Promise<void>((resolve) => void proxy.#server.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Port of the server for new connections; `undefined`: they are refused. */
  routeTo(port: number | undefined): void {
    this.#targetPort = port
  }

  /** Breaks all connections; new ones are served. */
  cut(): void {
    for (const connection of this.#connections) connection.lose()
  }

  /** Forwards all held bytes. */
  release(): void {
    for (const connection of this.#connections) connection.release()
  }

  /** Carries nothing any more, in either direction, also for new connections. */
  fallSilent(): void {
    this.#isSilent = true
    for (const connection of this.#connections) connection.isSilent = true
  }

  /** Breaks silent connections. */
  endSilence(): void {
    this.#isSilent = false
    for (const connection of this.#connections) if (connection.isSilent) connection.lose()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut()
    await new Promise<void>((resolve) => void this.#server.close(() => resolve()))
  }

  #serve(client: Socket): void {
    if (this.#targetPort === undefined) return void client.destroy()
    const connection = new Connection(client, this.#targetPort, this.#parts, ++this.#count)
    connection.isSilent = this.#isSilent
    this.#connections.add(connection)
    client.on('close', () => this.#connections.delete(connection))
  }
}

class Connection {
  readonly #client: Socket
  readonly #upstream: Socket
  readonly #parts: WireProxyParts
  /** Held bytes by their sender. */
  readonly #held = new Map<Socket, Piece[]>()
  isSilent = false

  constructor(client: Socket, targetPort: number, parts: WireProxyParts, number: number) {
    this.#client = client
    this.#upstream = connect(targetPort, '127.0.0.1')
    this.#parts = parts
    const { fromClient, fromServer } = parts.listener(number)
    this.#pump(client, this.#upstream, fromClient)
    this.#pump(this.#upstream, client, fromServer)
    // What a process sent before it died must still arrive.
    client.on('close', () => this.#upstream.end())
    this.#upstream.on('close', () => client.destroy())
  }

  lose(): void {
    this.#client.destroy()
    this.#upstream.destroy()
  }

  release(): void {
    for (const [from, pieces] of this.#held) {
      this.#held.delete(from)
      for (const piece of pieces) this.#forward(from === this.#client ? this.#upstream : this.#client, piece)
    }
  }

  #pump(from: Socket, to: Socket, hear: (bytes: Buffer) => readonly Seen[]): void {
    from.setNoDelay(true)
    from.on('error', () => from.destroy())
    from.on('data', (bytes: Buffer) => {
      const piece = { bytes, seen: hear(bytes) }
      const held = this.#held.get(from)
      if (held === undefined) this.#carry(from, to, piece)
      else held.push(piece)
    })
  }

  #carry(from: Socket, to: Socket, piece: Piece): void {
    if (this.isSilent) return
    let action: Action = 'pass'
    for (const seen of piece.seen) {
      const judged = this.#parts.judge(seen)
      if (judged !== 'pass') action = judged
    }
    switch (action) {
      case 'pass':
        return this.#forward(to, piece)
      case 'hold':
        return void this.#held.set(from, [piece])
      case 'lose':
        return this.lose()
      case 'swallow':
        this.isSilent = true
        return
      case 'refuse':
        return this.#refuse(to, piece)
    }
  }

  #refuse(to: Socket, { seen }: Piece): void {
    const refused = seen.find((each) => each.refused !== undefined)?.refused
    if (refused === undefined) throw new Error('expected bytes that the server can be made to refuse')
    to.write(refused)
  }

  #forward(to: Socket, { bytes, seen }: Piece): void {
    if (to.destroyed || to.writableEnded) return
    to.write(bytes)
    for (const each of seen) this.#parts.arrived(each)
  }
}

import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** A TCP proxy on loopback: what the client sends arrives, and the next reply is lost with its connection when told to. */
export interface ReplyLoser {
  readonly port: number
  readonly lost: number
  loseNextReply(): void
  stop(): Promise<void>
}

export async function startReplyLoser(targetPort: number): Promise<ReplyLoser> {
  const held = new Set<Socket>()
  let isArmed = false
  let lost = 0
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
    client.pipe(upstream)
    upstream.on('data', (reply) => {
      if (!isArmed) return void client.write(reply)
      isArmed = false
      lost++
      client.destroy()
    })
  })
  await new Promise<void>((resolve) => void listener.listen(0, '127.0.0.1', resolve))
  return {
    port: (listener.address() as AddressInfo).port,
    get lost() {
      return lost
    },
    loseNextReply: () => {
      isArmed = true
    },
    stop: () =>
      new Promise((resolve) => {
        listener.close(() => resolve())
        for (const socket of held) socket.destroy()
      }),
  }
}

import { connect, type Socket } from 'node:net'
import type { ISocketFactory } from 'kafkajs'
import { describeKafkaContract } from './laws/source.ts'

describeKafkaContract('kafkajs', (cluster, sockets) => cluster.client({ socketFactory: tracked(sockets) }))

/** As kafkajs makes them, and kept as long as they are open. */
function tracked(sockets: Set<Socket>): ISocketFactory {
  return ({ host, port, onConnect }) => {
    const socket = connect({ host, port }, onConnect)
    sockets.add(socket.setKeepAlive(true, 60_000))
    return socket.on('close', () => sockets.delete(socket))
  }
}

import type { Socket } from 'node:net'
import * as platformatic from '@platformatic/kafka'
import { platformaticClient } from '../../adapters/platformatic-kafka/client.ts'
import type { KafkaClient } from '../../adapters/kafka/client.ts'

/** @param sockets - its connections are added here */
export function platformaticOf(brokers: readonly string[], sockets: Set<Socket> = new Set()): KafkaClient {
  class Base extends platformatic.Base {
    constructor(options: ConstructorParameters<typeof platformatic.Base>[0]) {
      super(options)
      this.on('client:broker:connect', (event) => {
        const { connection } = event as { readonly connection: { readonly socket: Socket } }
        sockets.add(connection.socket)
      })
    }
  }
  return platformaticClient({ ...platformatic, Base }, { clientId: 'test', bootstrapBrokers: [...brokers] })
}

import type { Socket } from 'node:net'
import * as platformatic from '@platformatic/kafka'
import { platformaticClient } from '../../../adapters/platformatic-kafka/client.ts'
import { Wire } from '../../../adapters/platformatic-kafka/wire/wire.ts'
import type { KafkaClient } from '../../../adapters/kafka/client.ts'

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

/** How many members a group of KIP-848 has; none if it does not exist. */
export async function membersOfIncremental(brokers: readonly string[], group: string): Promise<number> {
  const wire = new Wire(platformatic, { clientId: 'test', bootstrapBrokers: [...brokers] })
  try {
    const coordinator = await wire.coordinatorOf(group)
    const { groups } = await wire.request<{ readonly groups: readonly { readonly members: readonly unknown[] }[] }>(
      'ConsumerGroupDescribe',
      coordinator,
      [[group], false],
    )
    return groups[0]?.members.length ?? 0
  } finally {
    await wire.close()
  }
}

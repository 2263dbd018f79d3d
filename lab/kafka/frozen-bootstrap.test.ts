import * as platformatic from '@platformatic/kafka'
import { expect, it } from '@jest/globals'
import { platformaticClient } from '../../adapters/platformatic-kafka/client.ts'
import type { PrivateKafka } from '../../test/kit/servers/private-kafka.ts'
import { ownCluster } from './own-cluster.ts'

let kafka: PrivateKafka

ownCluster((_cluster, brokers) => (kafka = brokers))

it('a first broker that takes connections and answers nothing is passed over, at a start and later', async () => {
  const client = platformaticClient(platformatic, { clientId: 'lab', bootstrapBrokers: kafka.brokers })
  const before = await client.admin()
  const [first] = kafka.nodes
  first?.freeze()
  try {
    const since = performance.now()
    const admin = await client.admin()
    const named = await Promise.all([admin.listTopics(), before.listTopics()])
    expect(named.every((topics) => Array.isArray(topics))).toBe(true)
    expect(performance.now() - since).toBeLessThan(25_000)
    await admin.disconnect()
  } finally {
    first?.thaw()
  }
  await before.disconnect()
}, 60_000)

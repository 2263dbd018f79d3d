import { afterAll, afterEach, beforeAll } from '@jest/globals'
import { startPrivateKafka, type PrivateKafka } from '../../test/kit/servers/private-kafka.ts'
import { SERVER_WITHIN_MS } from '../../test/kit/servers/server.ts'
import { Cluster } from '../../test/kafka/kit.ts'

/** Three brokers that the tests of a file have for themselves, and may kill. */
export function ownCluster(
  use: (cluster: Cluster, kafka: PrivateKafka) => void,
  properties: Readonly<Record<string, string>> = {},
): void {
  let [cluster, kafka]: [Cluster?, PrivateKafka?] = []
  beforeAll(async () => {
    kafka = await startPrivateKafka({ brokers: 3, properties })
    cluster = await Cluster.open(kafka.brokers)
    use(cluster, kafka)
  }, SERVER_WITHIN_MS)
  afterEach(() => cluster?.closeSources())
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]()
    await kafka?.stop()
  })
}

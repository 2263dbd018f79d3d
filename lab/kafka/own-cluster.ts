import { afterEach } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { startPrivateKafka, type PrivateKafka } from '../../test/kit/servers/private-kafka.ts'
import { Cluster } from '../../test/kafka/kit.ts'

/** Three brokers that the tests of a file have for themselves, and may kill. */
export function ownCluster(
  use: (cluster: Cluster, kafka: PrivateKafka) => void,
  properties: Readonly<Record<string, string>> = {},
): void {
  let [cluster, kafka]: [Cluster?, PrivateKafka?] = []
  beforeAllOpen(async (own) => {
    kafka = own(await startPrivateKafka({ brokers: 3, properties }))
    cluster = own(await Cluster.open(kafka.brokers))
    use(cluster, kafka)
  })
  afterEach(() => cluster?.closeSources())
}

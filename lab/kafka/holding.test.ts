import { runKafka } from '../../adapters/kafkajs/index.ts'
import { Cluster, FAST } from '../../test/kafka/kit.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { openedOnce } from '../../test/kit/opened.ts'
import { describeHolding } from '../kit/holding.ts'

let cluster: Cluster
openedOnce(Cluster, (made) => (cluster = made))

describeHolding('Kafka', async () => {
  const [topic, dead, group] = [await cluster.topic(2), await cluster.topic(1), uniqueName('group')]
  const options = { ...FAST, topics: [topic], group, startAt: 'earliest', deadLetter: { topic: dead } } as const
  return {
    run: (consumer) => runKafka(cluster.client(), consumer, options),
    send: async (ids) => {
      for (const partition of [0, 1]) {
        const half = ids.filter((_, at) => at % 2 === partition).map((id) => ({ value: id, headers: { id } }))
        await cluster.send(topic, half, partition)
      }
    },
    untilSettled: (sent) => cluster.untilCommitted(group, topic, [sent / 2, sent / 2]),
    members: async () => (await cluster.admin.describeGroups([group])).groups[0]?.members.length ?? 0,
    countDeadLetters: async () => (await cluster.highs(dead)).reduce((sum, { high }) => sum + Number(high), 0),
    deadLetters: async (count) => (await cluster.read(dead, count)).map(({ value }) => String(value)),
  }
})

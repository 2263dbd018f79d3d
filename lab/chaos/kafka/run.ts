import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster } from '../../../test/kafka/kit.ts'
import { uniqueName } from '../../../test/kit/namespace.ts'
import { startPrivateKafka } from '../../../test/kit/servers/private-kafka.ts'
import { nothingBeside, type Beside } from '../beside.ts'
import { OF_A_SOAK } from '../messages.ts'
import type { ChaosRun } from '../report.ts'
import type { Pace } from '../pace.ts'
import { Stage } from '../stage.ts'
import { together } from '../together.ts'
import { ClusterControl, OFFSETS_TOPIC } from './cluster-control.ts'
import type { Evidence } from './evidence.ts'
import { injectFaults } from './faults.ts'
import { gatherPartitions } from './gather.ts'
import { judge } from './judge.ts'
import { SHAPE } from './messages.ts'
import { PARTITIONS, planOf, type KafkaOptions } from './plan.ts'
import { Sending } from './sending.ts'
import { LEASE_MS, SESSIONS, sourceOf, TUNING } from './settings.ts'

const LOOK_EVERY_MS = 250

interface Place {
  readonly brokers: string[]
  readonly topic: string
  readonly groupId: string
}

/** One run, on servers of its own. A seed plans the same messages and faults; how they meet is up to the machine. */
export async function runChaosOnKafka(options: KafkaOptions, beside: Beside = nothingBeside): Promise<ChaosRun> {
  await using kafka = await startPrivateKafka({ brokers: 3, properties: SESSIONS })
  const { brokers } = kafka
  return await Stage.with(options, async (stage) => {
    const { journal } = stage
    await using cluster = await Cluster.open(brokers)
    const place: Place = { brokers, topic: await cluster.topic(PARTITIONS), groupId: uniqueName('chaos') }
    const source = sourceOf(place.brokers, place.topic, place.groupId, options.client)
    const workers = stage.hire({ module: new URL('worker.ts', import.meta.url), source, tuning: TUNING })
    const acknowledged = new Set<string>()
    const act = async (pace: Pace, signal: AbortSignal): Promise<void> => {
      await using control = await ClusterControl.connect(brokers, signal)
      const shape = options.soak === undefined ? SHAPE : OF_A_SOAK
      const sending = new Sending({ ...options, ...place, shape, pace, signal }, acknowledged)
      const injecting = injectFaults({ plan: planOf(options), pace, kafka, control, workers, journal, ...place })
      await together([injecting, sending.run()])
      journal.note('run', 'all is sent, every fault has healed')
      await control.untilInSync([place.topic, OFFSETS_TOPIC])
      await untilDrained(place, signal)
    }
    await stage.play({ act, beside, backlog: () => backlogOf(cluster, place) })
    const evidence: Evidence = {
      acknowledged,
      ...(await gatherTopics(place)),
      ...(await stage.gather(LEASE_MS)),
    }
    return { options, verdict: judge(evidence), journal, evidence, seconds: journal.seconds }
  })
}

async function gatherTopics({ brokers, topic, groupId }: Place): Promise<Pick<Evidence, 'partitions' | 'deadLetters'>> {
  await using reader = await Cluster.open(brokers)
  const deadLetters = await reader.highs(`${topic}.dead-letter`)
  return {
    partitions: await gatherPartitions(reader, groupId, topic),
    deadLetters: deadLetters.reduce((sum, { high }) => sum + Number(high), 0),
  }
}

/** The group has committed all that there is. */
async function untilDrained(place: Place, deadline: AbortSignal): Promise<void> {
  await using cluster = await Cluster.open(place.brokers)
  for (;;) {
    deadline.throwIfAborted()
    if ((await backlogOf(cluster, place)) === 0) return
    await sleep(LOOK_EVERY_MS)
  }
}

/** A group that has committed nothing has negative offsets. */
async function backlogOf(cluster: Cluster, { topic, groupId }: Place): Promise<number> {
  const [ends, committed] = await Promise.all([cluster.highs(topic), cluster.committed(groupId, topic)])
  const leftOf = ({ partition, high }: (typeof ends)[number]): number => {
    return Math.abs(Number(high) - Math.max(0, committed[partition] ?? 0)) // Beyond the end is not the end.
  }
  return ends.reduce((sum, end) => sum + leftOf(end), 0)
}

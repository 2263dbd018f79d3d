import { cpSync, mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster } from '../../../test/kafka/kit.ts'
import { uniqueName } from '../../../test/kit/namespace.ts'
import { startPrivateKafka, type PrivateKafka } from '../../../test/kit/servers/private-kafka.ts'
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
import { PARTITIONS, planOf, UNCLEAN_PARTITIONS, type KafkaOptions } from './plan.ts'
import { sendUnclean } from './sending-unclean.ts'
import { Sending } from './sending.ts'
import { LEASE_MS, PROPERTIES, sourceOf, TUNING } from './settings.ts'
import { Transacting } from './transacting.ts'

const LOOK_EVERY_MS = 250

interface Place {
  readonly brokers: string[]
  readonly topic: string
  /** Any replica may lead its partitions, however far it is behind. A soak has none. */
  readonly uncleanTopic: string | undefined
  readonly groupId: string
}

/** One run, on servers of its own. A seed plans the same messages and faults; how they meet is up to the machine. */
export async function runChaosOnKafka(options: KafkaOptions, beside: Beside = nothingBeside): Promise<ChaosRun> {
  await using kafka = await startPrivateKafka({ brokers: 3, properties: PROPERTIES })
  const { brokers } = kafka
  return await Stage.with(options, async (stage) => {
    const { journal } = stage
    await using cluster = await Cluster.open(brokers)
    const place: Place = {
      brokers,
      topic: await cluster.topic(PARTITIONS),
      uncleanTopic: options.soak === undefined ? await makeUncleanTopic(cluster) : undefined,
      groupId: uniqueName('chaos'),
    }
    const source = sourceOf(place.brokers, topicsOf(place), place.groupId, options.client)
    const workers = stage.hire({ module: new URL('worker.ts', import.meta.url), source, tuning: TUNING })
    const [acknowledged, uncleanAcknowledged] = [new Set<string>(), new Set<string>()]
    const over = new AbortController()
    const transacting = new Transacting({ ...options, ...place, until: over.signal })
    const act = async (pace: Pace, signal: AbortSignal): Promise<void> => {
      await using control = await ClusterControl.connect(brokers, signal)
      const shape = options.soak === undefined ? SHAPE : OF_A_SOAK
      const sending = new Sending({ ...options, ...place, shape, pace, signal }, acknowledged)
      const injecting = injectFaults({ plan: planOf(options), pace, kafka, control, workers, journal, ...place })
      const main = together([injecting, sending.run()]).finally(() => over.abort())
      await together([main, ...besideMain(place, transacting, over.signal, uncleanAcknowledged)])
      journal.note('run', 'all is sent, every fault has healed')
      await control.untilInSync([place.topic, OFFSETS_TOPIC])
      if (place.uncleanTopic !== undefined) await control.untilWhole(place.uncleanTopic)
      await untilDrained(place, signal)
    }
    await stage.play({ act, beside, backlog: () => backlogOf(cluster, place) })
    const evidence: Evidence = {
      acknowledged,
      transactions: transacting.ended,
      ...(await gatherTopics(place, uncleanAcknowledged)),
      ...(await stage.gather(LEASE_MS)),
    }
    const verdict = judge(evidence)
    if (verdict.violations.length > 0) journal.note('run', `logs of the brokers: ${keepLogs(kafka, place)}`)
    return { options, verdict, journal, evidence, seconds: journal.seconds }
  })
}

/** The partitions as each broker has them, with its index of aborted transactions: kafka.tools.DumpLogSegments reads them. */
function keepLogs({ dataFolders }: PrivateKafka, place: Place): string {
  const kept = mkdtempSync(join(tmpdir(), 'consume-once-chaos-logs-'))
  for (const [index, folder] of dataFolders.entries()) {
    const partitions = readdirSync(folder).filter((name) =>
      topicsOf(place).some((topic) => name.startsWith(`${topic}-`)),
    )
    for (const name of partitions)
      cpSync(join(folder, name), join(kept, `broker-${index + 1}`, name), { recursive: true })
  }
  return kept
}

/** What else is sent, until the signal aborts. */
function besideMain(
  place: Place,
  transacting: Transacting,
  until: AbortSignal,
  acknowledged: Set<string>,
): readonly Promise<void>[] {
  const { brokers, uncleanTopic: topic } = place
  if (topic === undefined) return []
  return [transacting.run(), sendUnclean({ brokers, topic, partitions: UNCLEAN_PARTITIONS, until }, acknowledged)]
}

/** Each partition on two of three brokers. */
async function makeUncleanTopic({ admin }: Cluster): Promise<string> {
  const topic = uniqueName('unclean')
  const config = { 'unclean.leader.election.enable': 'true', 'min.insync.replicas': '1' }
  const configEntries = Object.entries(config).map(([name, value]) => ({ name, value }))
  const replicaAssignment = Array.from({ length: UNCLEAN_PARTITIONS }, (_, partition) => ({
    partition,
    replicas: [(partition % 3) + 1, ((partition + 1) % 3) + 1],
  }))
  await admin.createTopics({ waitForLeaders: false, topics: [{ topic, replicaAssignment, configEntries }] })
  return topic
}

function topicsOf({ topic, uncleanTopic }: Place): readonly string[] {
  return uncleanTopic === undefined ? [topic] : [topic, uncleanTopic]
}

async function gatherTopics(
  place: Place,
  acknowledged: ReadonlySet<string>,
): Promise<Pick<Evidence, 'partitions' | 'deadLetters' | 'unclean'>> {
  const { brokers, topic, uncleanTopic, groupId } = place
  await using reader = await Cluster.open(brokers)
  const deadLetters = await Promise.all(topicsOf(place).map((name) => reader.highs(`${name}.dead-letter`)))
  const unclean = uncleanTopic === undefined ? [] : await gatherPartitions(reader, groupId, uncleanTopic)
  return {
    partitions: await gatherPartitions(reader, groupId, topic),
    unclean: { partitions: unclean, acknowledged },
    deadLetters: deadLetters.flat().reduce((sum, { high }) => sum + Number(high), 0),
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
async function backlogOf(cluster: Cluster, place: Place): Promise<number> {
  const ofTopics = await Promise.all(topicsOf(place).map((topic) => backlogOfTopic(cluster, topic, place.groupId)))
  return ofTopics.reduce((sum, ofOne) => sum + ofOne, 0)
}

async function backlogOfTopic(cluster: Cluster, topic: string, groupId: string): Promise<number> {
  const [ends, committed] = await Promise.all([cluster.highs(topic), cluster.committed(groupId, topic)])
  const leftOf = ({ partition, high }: (typeof ends)[number]): number => {
    return Math.abs(Number(high) - Math.max(0, committed[partition] ?? 0)) // Beyond the end is not the end.
  }
  return ends.reduce((sum, end) => sum + leftOf(end), 0)
}

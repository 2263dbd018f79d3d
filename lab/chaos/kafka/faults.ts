import { setTimeout as sleep } from 'node:timers/promises'
import type { PrivateKafka } from '../../../test/kit/servers/private-kafka.ts'
import { injectWorkerFaults, runLane } from '../worker-faults.ts'
import type { Journal } from '../journal.ts'
import type { Pace } from '../pace.ts'
import { together } from '../together.ts'
import type { WorkerSlot } from '../worker-slot.ts'
import { coordinatorPartitionOf, OFFSETS_TOPIC, type ClusterControl } from './cluster-control.ts'
import type { BrokerFault, Move, Plan, UncleanElection } from './plan.ts'

/** As the private brokers are set up (servers/kafka/properties.ts). */
const COORDINATORS = 3

interface FaultsParts {
  readonly plan: Plan
  readonly pace: Pace
  readonly kafka: PrivateKafka
  readonly control: ClusterControl
  readonly workers: readonly WorkerSlot[]
  readonly journal: Journal
  readonly topic: string
  /** `undefined`: nothing is planned for it. */
  readonly uncleanTopic: string | undefined
  readonly groupId: string
}

/** What the leader confirms alone, at the least. */
const CUT_OFF = 20
const TRANSACTIONS_TOPIC = '__transaction_state'

/** Everything that is planned, each lane beside the others. Resolves when every fault has healed. */
export async function injectFaults(parts: FaultsParts): Promise<void> {
  const { plan, pace, workers, journal } = parts
  await together([
    runLane(pace, 'moves', plan.moves, (move) => movePartition(parts, move)),
    runLane(pace, 'brokers', plan.brokers, (fault) =>
      fault.kind === 'unclean-election' ? electUncleanly(parts, fault) : injectBrokerFault(parts, fault),
    ),
    ...injectWorkerFaults(pace, workers, plan.workers, journal),
  ])
}

async function movePartition({ control, journal, topic, groupId }: FaultsParts, move: Move): Promise<void> {
  const place =
    move.kind === 'partition-move'
      ? { topic, partition: move.partition }
      : { topic: OFFSETS_TOPIC, partition: coordinatorPartitionOf(groupId, COORDINATORS) }
  const name = `${place.topic}/${place.partition}`
  journal.note(name, 'moving away')
  const leader = await control.moveAway(place)
  journal.note(name, `moved away from ${leader}`)
  await sleep(move.awayMs)
  await control.moveBack(place, leader)
  journal.note(name, `moved back to ${leader}`)
  journal.count(move.kind)
}

async function injectBrokerFault({ kafka, control, journal, topic }: FaultsParts, fault: BrokerFault): Promise<void> {
  const broker = kafka.nodes[fault.broker]
  if (broker === undefined) throw new TypeError(`no broker ${fault.broker}`)
  const name = `broker ${fault.broker + 1}`
  // One at a time: with two out of three gone there is no cluster, and nothing to be learned.
  await control.untilInSync([topic, OFFSETS_TOPIC])
  journal.note(name, `${fault.kind}, ${fault.forMs} ms`)
  if (fault.kind === 'broker-kill') {
    await broker.kill()
    await sleep(fault.forMs)
    await broker.restart()
  } else {
    broker.freeze()
    await sleep(fault.forMs)
    broker.thaw()
  }
  journal.note(name, 'is back')
  journal.count(fault.kind)
}

/**
 * The group commits what the leader alone has; then the other replica leads, and other messages come to those offsets. No
 * member sees the log while it is shorter: they are frozen until it has grown past what was committed.
 */
async function electUncleanly(parts: FaultsParts, fault: UncleanElection): Promise<void> {
  const { kafka, control, workers, journal, topic, uncleanTopic, groupId } = parts
  if (uncleanTopic === undefined) throw new TypeError('no topic for an unclean election')
  const place = { topic: uncleanTopic, partition: fault.partition }
  const name = `${place.topic}/${place.partition}`
  await control.untilInSync([topic, OFFSETS_TOPIC, TRANSACTIONS_TOPIC])
  await control.untilWhole(uncleanTopic)
  const [leader, follower] = await control.leaderOf(place)
  const [leading, following] = [kafka.nodes[leader - 1], kafka.nodes[follower - 1]]
  if (leading === undefined || following === undefined) throw new TypeError(`no brokers ${leader}, ${follower}`)
  await following.kill()
  await control.untilAlone(place, leader)
  const end = await control.endOf(place)
  journal.note(name, `${leader} leads alone from ${end} on`)
  await control.untilCommitted(groupId, place, end + CUT_OFF)
  const elect = async (): Promise<void> => {
    const committed = await control.committedOf(groupId, place)
    await leading.kill()
    journal.note(name, `committed is ${committed}, ${leader} is dead`)
    await following.restart()
    await control.untilLedBy(place, follower)
    journal.note(name, `${follower} leads`)
    await control.untilEndIs(place, committed + CUT_OFF)
  }
  const freezing = workers.reduce((act, worker) => () => worker.freeze(act), elect)
  await freezing()
  journal.note(name, 'its log has grown again')
  await leading.restart()
  journal.count(fault.kind)
}

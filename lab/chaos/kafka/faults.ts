import { setTimeout as sleep } from 'node:timers/promises'
import type { PrivateKafka } from '../../../test/kit/servers/private-kafka.ts'
import { injectWorkerFaults, runLane } from '../worker-faults.ts'
import type { Journal } from '../journal.ts'
import type { Pace } from '../pace.ts'
import { together } from '../together.ts'
import type { WorkerSlot } from '../worker-slot.ts'
import { coordinatorPartitionOf, OFFSETS_TOPIC, type ClusterControl } from './cluster-control.ts'
import type { BrokerFault, Move, Plan } from './plan.ts'

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
  readonly groupId: string
}

/** Everything that is planned, each lane beside the others. Resolves when every fault has healed. */
export async function injectFaults(parts: FaultsParts): Promise<void> {
  const { plan, pace, workers, journal } = parts
  await together([
    runLane(pace, 'moves', plan.moves, (move) => movePartition(parts, move)),
    runLane(pace, 'brokers', plan.brokers, (fault) => injectBrokerFault(parts, fault)),
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

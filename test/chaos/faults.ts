import { setTimeout as sleep } from 'node:timers/promises'
import type { PrivateKafka } from '../support/servers/private-kafka.ts'
import { coordinatorPartitionOf, OFFSETS_TOPIC, type ClusterControl } from './cluster-control.ts'
import type { Journal } from './journal.ts'
import type { Pace } from './pace.ts'
import type { BrokerFault, Move, Plan, WorkerFault } from './plan.ts'
import type { WorkerSlot } from './worker-slot.ts'

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

/** Everything that is planned, each lane beside the others. Resolves when nothing is harmed any more. */
export async function doHarm(parts: FaultsParts): Promise<void> {
  const { plan, pace, workers } = parts
  const lanes: Promise<void>[] = [
    runLane(pace, 'moves', plan.moves, (move) => movePartition(parts, move)),
    runLane(pace, 'brokers', plan.brokers, (fault) => harmBroker(parts, fault)),
    ...plan.workers.map((faults, index) => {
      const worker = workers[index]
      if (worker === undefined) throw new TypeError(`no worker ${index}`)
      return runLane(pace, `worker ${index}`, faults, (fault) => harmWorker(parts, worker, fault))
    }),
  ]
  for (const end of await Promise.allSettled(lanes)) if (end.status === 'rejected') throw end.reason
}

async function runLane<Fault extends { readonly at: number }>(
  pace: Pace,
  lane: string,
  faults: readonly Fault[],
  act: (fault: Fault) => Promise<void>,
): Promise<void> {
  pace.enter(lane)
  for (const fault of faults) {
    await pace.reach(lane, fault.at)
    await act(fault)
  }
  pace.leave(lane)
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

async function harmBroker({ kafka, control, journal, topic }: FaultsParts, fault: BrokerFault): Promise<void> {
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

async function harmWorker({ journal }: FaultsParts, worker: WorkerSlot, fault: WorkerFault): Promise<void> {
  journal.note(worker.current.name, `${fault.kind}, ${fault.forMs} ms`)
  switch (fault.kind) {
    case 'worker-freeze':
      await worker.freeze(fault.forMs)
      break
    case 'worker-kill':
      await worker.kill()
      await sleep(fault.forMs)
      worker.start()
      break
    case 'worker-stop':
      await worker.stop()
      await sleep(fault.forMs)
      worker.start()
      break
  }
  journal.count(fault.kind)
}

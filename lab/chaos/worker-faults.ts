import { setTimeout as sleep } from 'node:timers/promises'
import type { Journal } from './journal.ts'
import type { Pace } from './pace.ts'
import type { Planned, WorkerFault } from './plan.ts'
import type { WorkerSlot } from './worker-slot.ts'

/** Faults of one lane, in turn, each when its share of the messages has been handled. */
export async function runLane<Fault extends Planned>(
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

/** One lane for each worker. */
export function injectWorkerFaults(
  pace: Pace,
  workers: readonly WorkerSlot[],
  plan: readonly (readonly WorkerFault[])[],
  journal: Journal,
): readonly Promise<void>[] {
  return plan.map((faults, index) => {
    const worker = workers[index]
    if (worker === undefined) throw new TypeError(`no worker ${index}`)
    return runLane(pace, `worker ${index}`, faults, (fault) => injectWorkerFault(worker, fault, journal))
  })
}

async function injectWorkerFault(worker: WorkerSlot, fault: WorkerFault, journal: Journal): Promise<void> {
  journal.note(worker.current.name, `${fault.kind}, ${fault.forMs} ms`)
  switch (fault.kind) {
    case 'worker-freeze':
      await worker.freeze(() => sleep(fault.forMs))
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

import { setTimeout as sleep } from 'node:timers/promises'
import type { FaultProxy } from '../../../test/kit/fault-proxy.ts'
import type { PrivateInstance } from '../../../test/kit/servers/private-instance.ts'
import { injectWorkerFaults, runLane } from '../worker-faults.ts'
import type { Journal } from '../journal.ts'
import type { Pace } from '../pace.ts'
import { together } from '../together.ts'
import type { WorkerSlot } from '../worker-slot.ts'
import type { BrokerFault, Plan } from './plan.ts'

interface FaultsParts {
  readonly plan: Plan
  readonly pace: Pace
  readonly rabbit: PrivateInstance
  readonly proxy: FaultProxy
  readonly workers: readonly WorkerSlot[]
  readonly journal: Journal
}

/** Everything that is planned, each lane beside the others. Resolves when every fault has healed. */
export async function injectFaults(parts: FaultsParts): Promise<void> {
  const { plan, pace, workers, journal } = parts
  await together([
    runLane(pace, 'broker', plan.broker, (fault) => injectBrokerFault(parts, fault)),
    ...injectWorkerFaults(pace, workers, plan.workers, journal),
  ])
}

async function injectBrokerFault({ rabbit, proxy, journal }: FaultsParts, fault: BrokerFault): Promise<void> {
  if (fault.kind === 'connections-cut') {
    journal.note('broker', `${proxy.connections} connections cut`)
    proxy.cut()
  } else {
    journal.note('broker', `${fault.how}, ${fault.downMs} ms`)
    if (fault.how === 'kill') {
      await rabbit.kill()
      await sleep(fault.downMs)
    }
    await rabbit.restart()
    journal.note('broker', 'is back')
  }
  journal.count(fault.kind)
}

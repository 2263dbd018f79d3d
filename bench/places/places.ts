import type { Servers } from '../machine.ts'
import { eachOnce, withDuplicates, type Deliveries } from './duplicates.ts'
import type { Plan } from './plans.ts'

/** Topics or queues of one repetition. They go with it. */
export interface Places extends AsyncDisposable {
  /** Name of a place with these messages of 1 KB, none of them consumed. */
  filled(deliveries: Deliveries): Promise<string>
}

export async function openPlaces(plan: Plan | undefined, servers: Servers): Promise<Places | undefined> {
  if (plan === undefined) return undefined
  if ('queueType' in plan) return (await import('./queues.ts')).Queues.open(servers, plan)
  return (await import('./topics.ts')).Topics.open(servers, plan)
}

/** What a place of so many messages holds. */
export function deliveriesOf(plan: Plan | undefined, messages: number): Deliveries {
  return plan?.duplicates === true ? withDuplicates(messages) : eachOnce(messages)
}

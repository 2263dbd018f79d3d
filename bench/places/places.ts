import type { Servers } from '../machine.ts'
import { Queues, type QueuePlan } from './queues.ts'
import { Topics, type TopicPlan } from './topics.ts'

export type Plan = TopicPlan | QueuePlan

/** Topics or queues of one repetition. They go with it. */
export interface Places extends AsyncDisposable {
  /** Name of a place with so many messages of 1 KB, with the IDs `0`, `1`, ..., none of them consumed. */
  filled(messages: number): Promise<string>
}

export async function openPlaces(plan: Plan | undefined, servers: Servers): Promise<Places | undefined> {
  if (plan === undefined) return undefined
  return 'queueType' in plan ? Queues.open(servers, plan) : Topics.open(servers, plan)
}

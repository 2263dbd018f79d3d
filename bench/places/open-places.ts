import type { Servers } from '../machine.ts'
import type { Places } from './places.ts'
import type { Plan } from './plans.ts'

export async function openPlaces(plan: Plan | undefined, servers: Servers): Promise<Places | undefined> {
  if (plan === undefined) return undefined
  if ('queueType' in plan) return (await import('./queues.ts')).Queues.open(servers, plan)
  return (await import('./topics.ts')).Topics.open(servers, plan)
}

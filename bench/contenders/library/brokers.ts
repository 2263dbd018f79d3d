import type { QueuePlan } from '../../places/plans.ts'
import type { LoadBroker } from './broker.ts'

export const onKafka: LoadBroker = async () => (await import('./on-kafka.ts')).onKafka

export const onPlatformatic: LoadBroker = async () => (await import('./on-platformatic.ts')).onPlatformatic

/** With the prefetch that the contenders without the library have too. */
export function onRabbit(prefetch: number, queueType: QueuePlan['queueType']): LoadBroker {
  return async () => (await import('./on-rabbit.ts')).onRabbit(prefetch, queueType)
}

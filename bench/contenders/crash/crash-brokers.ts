import type { QueuePlan } from '../../places/plans.ts'
import type { LoadCrashBroker } from './crash.ts'

export const crashOnKafka: LoadCrashBroker = async () => (await import('./crash-kafka.ts')).crashOnKafka

export function crashOnRabbit(prefetch: number, queueType: QueuePlan['queueType']): LoadCrashBroker {
  return async () => (await import('./crash-rabbit.ts')).crashOnRabbit(prefetch, queueType)
}

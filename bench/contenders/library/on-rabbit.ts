import { runRabbit, type RabbitOptions } from 'consume-once/amqplib'
import { rabbitSource } from '../../../adapters/amqplib/source-and-publisher.ts'
import type { QueuePlan } from '../../places/plans.ts'
import { serverOf, type Job } from '../../suite.ts'
import type { Broker } from './broker.ts'
import { expectEmpty } from '../clients/rabbit-client.ts'

export function onRabbit(prefetch: number, queueType: QueuePlan['queueType']): Broker {
  const optionsOf = ({ place }: Job): RabbitOptions => ({ queue: place, prefetch, queueType })
  return {
    idOf: ({ messageId }) => messageId,
    source: (job) => rabbitSource(serverOf(job, 'rabbitmq'), optionsOf(job)).source,
    async run(job, consumer) {
      const running = await runRabbit(serverOf(job, 'rabbitmq'), consumer, optionsOf(job))
      return () => running.stop()
    },
    async untilSettled(job, stop) {
      await stop()
      await expectEmpty(job)
    },
  }
}

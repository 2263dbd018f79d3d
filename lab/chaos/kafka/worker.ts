// Worker of a consumer group.
import { messageId } from 'consume-once'
import type { WorkerHooks } from '../../kit/worker/module.ts'
import { chaosHooks, type ChaosWorker } from '../hooks.ts'
import type { Payload } from '../messages.ts'
import { withPlantedCommits } from './planted.ts'

export default function onKafka(worker: ChaosWorker): WorkerHooks<Payload> {
  return {
    ...chaosHooks(worker, messageId.header('message-id')),
    kafka: (client) => withPlantedCommits(client, worker.spec.settings.planted),
  }
}

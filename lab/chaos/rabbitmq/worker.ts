// Worker of the queue.
import { messageId } from 'consume-once'
import type { WorkerHooks } from '../../kit/worker/module.ts'
import { chaosHooks, type ChaosWorker } from '../hooks.ts'
import type { Payload } from '../messages.ts'
import { withPlantedAcks } from './planted.ts'

export default function onRabbit(worker: ChaosWorker): WorkerHooks<Payload> {
  return {
    ...chaosHooks(worker, messageId.property()),
    lane: ({ headers }) => (typeof headers['key'] === 'string' ? headers['key'] : undefined),
    rabbit: (url) => withPlantedAcks(url, worker.spec.settings.planted),
  }
}

// A member of the group: tells of each message when it has been handled, and of each that came again.
import { setTimeout as sleep } from 'node:timers/promises'
import { json, messageId } from 'consume-once'
import type { Worker, WorkerHooks } from '../kit/worker/module.ts'
import { HANDLER_MS, type Numbered, type Told } from './plan.ts'

export default function inGroup(worker: Worker<undefined, Told>): WorkerHooks<Numbered> {
  return {
    consumer: {
      id: messageId.header('message-id'),
      decode: json<Numbered>(),
      async handle({ payload }) {
        await sleep(HANDLER_MS)
        worker.report({ handled: payload, at: Date.now() })
      },
      observe(event) {
        if (event.type === 'delivery' && event.outcome !== 'handled') {
          worker.report({ again: event.outcome, at: Date.now() })
        }
      },
    },
  }
}

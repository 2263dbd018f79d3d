import type { Job, Measurement } from '../../suite.ts'
import { Tally } from '../../tally.ts'
import { consumeAll } from '../clients/amqplib.ts'
import type { Handle } from '../handlers.ts'
import type { LoadOnce } from '../once/once.ts'

/** A worker by hand, or another library in it: each message by itself, then its ack. */
export function ackEachOnce(load: LoadOnce, handle: Handle, prefetch: number): (job: Job) => Promise<Measurement> {
  return async (job) => {
    const withOnce = await load()
    const tally = new Tally(job)
    return withOnce(job, (once) =>
      consumeAll(job, tally, prefetch, async ({ properties }) => {
        const id: unknown = properties.messageId
        await once(String(id), async () => {
          tally.started(id)
          await handle()
        })
      }),
    )
  }
}

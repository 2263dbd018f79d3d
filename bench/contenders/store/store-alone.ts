import { memoryStore } from 'consume-once/memory'
import type { Job, Measurement } from '../../suite.ts'
import { ID_HEADER } from '../../tally.ts'
import { messagesOf } from '../in-process/messages.ts'
import { warmed } from '../in-process/warmed.ts'
import { claimItems, claimsIn, inBatches, itemsOf } from './store-items.ts'

/** Claim, handler and mark of each message on the memory store, without a pipeline. */
export const storeAlone: (job: Job) => Promise<Measurement> = warmed(async (job, tally) => {
  const store = memoryStore()
  await store.open()
  const handle = async (id: Buffer): Promise<void> => tally.started(id)
  const messages = messagesOf(job)
  const batches = inBatches(itemsOf('alone', job.messages), 1)
  tally.arrived()
  for (const [at, { headers }] of messages.entries()) {
    const claims = claimsIn(await claimItems(store, batches[at] ?? [], 'bench'))
    await handle(headers[ID_HEADER] as Buffer)
    await store.mark(claims)
    tally.ended(1)
  }
})

import { Consumer } from '@platformatic/kafka'
import { serverOf, type Job, type Measurement } from '../../suite.ts'
import { ID_HEADER, Tally } from '../../tally.ts'
import type { Handle } from '../handlers.ts'
import { allCommitted } from './kafka-client.ts'

export function optionsOf(job: Job): { readonly clientId: string; readonly bootstrapBrokers: string[] } {
  return { clientId: 'bench', bootstrapBrokers: serverOf(job, 'kafka').split(',') }
}

/** @platformatic/kafka as it comes, without any deduplication: its stream, which commits each second what it has given. */
export function eachOfStream(handle: Handle): (job: Job) => Promise<Measurement> {
  return async (job) => {
    const tally = new Tally(job, 'each-delivery')
    const deserializers = { headerKey: textOf, headerValue: textOf }
    const consumer = new Consumer({ ...optionsOf(job), groupId: job.name, deserializers })
    const stream = await consumer.consume({
      topics: [job.place],
      mode: 'committed',
      fallbackMode: 'earliest',
      autocommit: 1_000,
    })
    const consumed = (async () => {
      for await (const message of stream) {
        tally.arrived()
        tally.started(message.headers.get(ID_HEADER))
        await handle()
        tally.ended(1)
      }
    })()
    await Promise.race([tally.complete, consumed])
    await allCommitted(job)
    return tally.measurement()
  }
}

const textOf = (bytes?: Buffer): string => bytes?.toString() ?? ''

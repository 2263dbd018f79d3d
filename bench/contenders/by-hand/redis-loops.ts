import { randomBytes } from 'node:crypto'
import type { Store } from 'consume-once'
import { redisLease } from 'consume-once/redis'
import type { KafkaMessage } from 'kafkajs'
import type { Job, Measurement } from '../../suite.ts'
import { ID_HEADER, Tally } from '../../tally.ts'
import type { Handle } from '../handlers.ts'
import { distinct, idOf, itemOf } from '../clients/kafka-messages.ts'
import { consumeInBatches } from '../clients/kafkajs.ts'
import { onRedis } from '../clients/redis-client.ts'
import { LEASE_MS, RETENTION_MS } from '../clients/redis-times.ts'
import { batchBySetNx } from '../once/set-nx.ts'

/** A loop by hand over the same store: claims a batch, handles it, marks it. The most that the store can give. */
export function loopOverLease(handle: Handle, batchSize: number): (job: Job) => Promise<Measurement> {
  return (job) =>
    onRedis(job, async (redis) => {
      const tally = new Tally(job)
      const store: Store = redisLease({ redis, prefix: job.name })
      await store.open()
      const handleBatch = async (batch: readonly KafkaMessage[]): Promise<void> => {
        const messages = distinct(batch)
        const answers = await store.claim({
          scope: job.name,
          token: randomBytes(9).toString('base64url'),
          leaseMs: LEASE_MS,
          retentionMs: RETENTION_MS,
          alone: false,
          items: messages.map(itemOf),
        })
        const claims = []
        for (const [at, answer] of answers.entries()) {
          if (answer.verdict === 'done') continue
          if (answer.verdict !== 'claimed') throw new Error(`expected a claim, got ${answer.verdict}`)
          tally.started(messages[at]?.headers?.[ID_HEADER])
          await handle()
          claims.push(answer.claim)
        }
        const verdicts = claims.length === 0 ? [] : await store.mark(claims)
        if (verdicts.some((verdict) => verdict !== 'marked')) throw new Error(`not marked: ${verdicts.join(' ')}`)
        tally.ended(batch.length)
      }
      return consumeInBatches(job, tally, batchSize, handleBatch)
    })
}

/** The usual code written by hand: SET NX before, SET after, in pipelines. No lease, no digest, no attempts. */
export function setNxLoop(handle: Handle, batchSize: number): (job: Job) => Promise<Measurement> {
  return (job) =>
    onRedis(job, (redis) => {
      const tally = new Tally(job)
      return consumeInBatches(job, tally, batchSize, async (batch) => {
        await batchBySetNx({ redis, name: job.name }, distinct(batch).map(idOf), async (id) => {
          tally.started(id)
          await handle()
        })
        tally.ended(batch.length)
      })
    })
}

import { randomBytes } from 'node:crypto'
import type { TransactionClaim } from 'consume-once/spi'
import { postgresInbox, type PgTransaction } from 'consume-once/pg'
import type { KafkaMessage } from 'kafkajs'
import type { Job, Measurement } from '../../suite.ts'
import { ID_HEADER, Tally } from '../../tally.ts'
import { distinct, itemOf } from '../clients/kafka-messages.ts'
import { consumeInBatches } from '../clients/kafkajs.ts'
import { onPostgres, writeEffects } from '../clients/postgres-client.ts'

/** A loop by hand over the same store: claims a batch, writes its effects in the same transaction, commits. */
export function loopOverInbox(batchSize: number): (job: Job) => Promise<Measurement> {
  return (job) =>
    onPostgres(job, async (pool) => {
      const tally = new Tally(job)
      const store = postgresInbox({ pool, schema: `${job.name}_inbox` })
      await store.open()
      const handleBatch = async (batch: readonly KafkaMessage[]): Promise<void> => {
        const messages = distinct(batch)
        const answers = await store.claim({
          scope: job.name,
          token: randomBytes(9).toString('base64url'),
          leaseMs: 30_000,
          retentionMs: 86_400_000,
          alone: false,
          items: messages.map(itemOf),
        })
        const ids: string[] = []
        const claims: TransactionClaim<PgTransaction>[] = []
        for (const [at, message] of messages.entries()) {
          const answer = answers[at]
          if (answer?.verdict === 'done') continue
          if (answer?.verdict !== 'claimed') throw new Error(`expected a claim, got ${answer?.verdict}`)
          ids.push(idOf(message))
          claims.push(answer.claim)
        }
        if (claims.length > 0) await handleClaimed(claims, ids)
        tally.ended(batch.length)
      }
      const handleClaimed = async (
        claims: readonly TransactionClaim<PgTransaction>[],
        ids: readonly string[],
      ): Promise<void> => {
        const lent = claims[0]?.transaction?.lend()
        if (lent === undefined) throw new Error('expected a transaction')
        for (const id of ids) tally.started(id)
        await writeEffects(lent.tx.query, job, ids)
        lent.revoke()
        const verdicts = await store.mark(claims)
        if (verdicts.some((verdict) => verdict !== 'marked')) throw new Error(`not marked: ${verdicts.join(' ')}`)
      }
      return consumeInBatches(job, tally, batchSize, handleBatch)
    })
}

const idOf = ({ headers }: KafkaMessage): string => String(headers?.[ID_HEADER])

import { eventually } from '../../test/kit/eventually.ts'
import { describe, expect, it } from '@jest/globals'
import { Pool } from 'pg'
import { postgresInbox } from 'consume-once/pg'
import { Journal } from '../chaos/journal.ts'
import { createEffects } from '../chaos/stage.ts'
import { WorkerSlot } from '../chaos/worker-slot.ts'
import { backends } from '../../test/kit/backends.ts'
import { startPrivatePostgres } from '../../test/kit/servers/private-postgres.ts'
import { SERVER_WITHIN_MS } from '../../test/kit/servers/server.ts'
import { judgeSamples } from './judge-samples.ts'
import { Sampler } from './sampler.ts'

const describeOnPostgres = backends.has('postgres') ? describe : describe.skip

const BOUNDS = { retentionMs: 0, longestTransactionMs: 1_000 }
const SAMPLE_EVERY_MS = 50
const SEEN = 50
const LEAKED_MB = 200

describeOnPostgres('the sampler of a soak', () => {
  it(
    'sees which process leaks, and a transaction that is left open, and nothing of the one that does neither',
    async () => {
      await using postgres = await startPrivatePostgres()
      const pool = new Pool({ connectionString: postgres.url, max: 2 })
      await postgresInbox({ pool }).open()
      await createEffects(pool)
      const journal = new Journal()
      const store = { on: 'postgres', strategy: 'inbox', url: postgres.url } as const
      const workers = [undefined, 'leak', 'open-transaction'].map((planted, index) => {
        const settings = { postgresUrl: postgres.url, planted, soak: undefined }
        const spec = { sources: [], store, consumer: { name: 'none' }, settings, stopDeadlineMs: 0 }
        const module = new URL('planted-worker.ts', import.meta.url)
        return new WorkerSlot(`w${index + 1}`, { module, spec }, journal)
      })
      const scene = { postgresUrl: postgres.url, redisUrl: undefined, journal, workers, backlog: async () => 0 }
      await using sampler = new Sampler(scene)
      const over = new AbortController()
      try {
        for (const worker of workers) worker.start()
        await eventually(async () => workers.every(({ current }) => current.usage !== undefined))
        const sampling = sampler.run(SAMPLE_EVERY_MS, over.signal)
        const leaked = (): number => workers[1]?.current.usage?.heapMb ?? 0
        await eventually(async () => sampler.samples.length >= SEEN && leaked() > LEAKED_MB)
        over.abort()
        await sampling
      } finally {
        await Promise.all(workers.map((worker) => worker.end()))
        await pool.end()
      }
      expect(journal.breaches).toEqual([])
      expect(judgeSamples(sampler.samples, BOUNDS)).toEqual([
        { law: 'nothing-grows', detail: expect.stringContaining('heapMb of w2.1 rose') },
        { law: 'no-transaction-left-open', detail: expect.any(String) },
      ])
    },
    SERVER_WITHIN_MS,
  )
})

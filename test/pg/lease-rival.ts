// A process of its own that claims keys which another claims at the same time, and tells which of them it was granted.
import { Pool } from 'pg'
import { postgresLease } from '../../adapters/pg/index.ts'
import { type Key } from '../../src/index.ts'
import { systemEntropy } from '../../src/internal.ts'

interface Contest {
  readonly url: string
  readonly schema: string
  /** Claimed in this order, a batch after the other. */
  readonly batches: readonly (readonly Key[])[]
}

async function main({ url, schema, batches }: Contest): Promise<void> {
  const pool = new Pool({ connectionString: url, max: 4 })
  const store = postgresLease({ pool, schema })
  await store.open()
  process.send?.('ready')
  await new Promise((resolve) => void process.once('message', resolve))
  const granted: Key[] = []
  const marked = batches.map(async (keys) => {
    const items = keys.map((key) => ({ key, digest: '' }))
    const token = systemEntropy.ownerToken()
    const answers = await store.claim({
      scope: 'rivals',
      token,
      leaseMs: 60_000,
      retentionMs: 60_000,
      alone: true,
      items,
    })
    const claims = answers.flatMap((answer) => ('claim' in answer ? [answer.claim] : []))
    granted.push(...claims.map(({ key }) => key))
    await store.renew(claims, 60_000)
    await store.mark(claims)
  })
  await Promise.all(marked)
  await pool.end()
  process.send?.(granted, () => process.exit(0))
}

void main(JSON.parse(process.argv[2] ?? '') as Contest)

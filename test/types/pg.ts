import { PGlite } from '@electric-sql/pglite'
import { Client, Pool, type PoolClient, type QueryConfig } from 'pg'
import {
  pgClient,
  pgliteInbox,
  pgliteLease,
  postgresInbox,
  postgresInboxSequences,
  postgresLease,
  type PgliteLike,
  type PgTransaction,
  type PoolLike,
} from '../../adapters/pg/index.ts'
import { defineConsumer, messageId } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'

const pool = new Pool()
const db = new PGlite()

pool satisfies PoolLike
db satisfies PgliteLike

defineConsumer({
  name: 'inbox',
  store: postgresInbox({ pool }),
  handle: async ({ tx, attempt }) => {
    tx satisfies PgTransaction
    const { rows, rowCount } = await tx.query<{ n: number }>('select $1::int as n', [attempt])
    rows satisfies { n: number }[]
    rowCount satisfies number | null
    await tx.query({ name: 'named', text: 'select $1', values: [1] } satisfies QueryConfig)
    const untyped = await tx.query('select 1')
    untyped.rows satisfies Record<string, unknown>[]
    pgClient(tx) satisfies PoolClient
    pgClient(tx) satisfies Pick<Pool, 'connect' | 'end'>
    // @ts-expect-error -- the transaction is the store's to end
    await tx.release()
  },
})

defineConsumer({
  name: 'numbered inbox',
  store: postgresInboxSequences({ pool, tail: 10, onBehind: 'duplicate', durability: 'commit' }),
  id: messageId.sourceSequence({ source: messageId.header('meter'), sequence: messageId.header('seq') }),
  handle: async ({ tx }) => tx.query('select 1'),
})

defineConsumer({
  name: 'embedded',
  store: pgliteInbox({ pglite: db, schema: 'mine' }),
  handleBatch: async ({ tx, messages }) => tx.query('select $1::int', [messages.length]),
})

defineConsumer({
  name: 'inbox without a fence',
  store: postgresInbox({ pool }),
  // @ts-expect-error -- a fence belongs to leases
  handle: ({ fence }) => fence,
})

defineConsumer({
  name: 'memory',
  store: memoryStore(),
  // @ts-expect-error -- a lease has no transaction
  handle: ({ tx }) => tx,
})

defineConsumer({
  name: 'lease',
  store: postgresLease({ pool, schema: 'mine' }),
  handle: ({ fence }) => fence satisfies number,
})

defineConsumer({
  name: 'embedded lease',
  store: pgliteLease({ pglite: db }),
  // @ts-expect-error -- a lease has no transaction
  handle: ({ tx }) => tx,
})

// @ts-expect-error -- a client has no connections to spare
postgresInbox({ pool: new Client() })
// @ts-expect-error -- neither
pgliteInbox({ pglite: pool })

import type { EventEmitter } from 'node:events'
import { Client, Pool } from 'pg'
import { pgClient } from '../../adapters/pg/index.ts'
import { hold, newItem } from '../../testing/contract/store/claims.ts'
import { eventually } from '../kit/eventually.ts'
import { server } from '../kit/servers/server.ts'
import { TABLES, type GuardRig, type Session } from '../kit/suites/guards.ts'
import { lend, newPlace } from './support.ts'

/** Tables and clients in a schema of their own. */
export async function newPgGuardRig(): Promise<GuardRig> {
  const place = await newPlace()
  const { url } = await server('postgres')
  const [options, name] = [`-c search_path=${place.schema}`, place.schema]
  const pool = new Pool({ connectionString: url, max: 4, options })
  const inbox = await place.newInbox({ pool })
  for (const table of TABLES) await pool.query(table)
  const clients: Client[] = []
  const session = async (): Promise<Session> => {
    const client = new Client({ connectionString: url, options, application_name: name })
    clients.push(client)
    client.on('error', () => {})
    await client.connect()
    return sessionOf(client)
  }
  const ofInbox = async (wrap: (tx: Parameters<typeof pgClient>[0]) => Session['tx']): Promise<Session> => {
    const { claim } = await hold(inbox, newItem())
    const lent = lend(claim)
    const run = async (sql: string): Promise<Record<string, unknown>[]> => (await lent.tx.query(sql)).rows
    const end = async (): Promise<void> => void (await inbox.mark([claim]))
    return {
      tx: wrap(lent.tx),
      run,
      end,
      roundTrips: () => Promise.reject(new Error('a lent transaction has no wire')),
    }
  }
  return {
    pool,
    session,
    clients: {
      Client: async () => {
        const made = await session()
        await made.run('begin')
        return made
      },
      PoolClient: async () => {
        const client = await pool.connect()
        await client.query('begin')
        return sessionOf(client, () => client.release())
      },
      'ctx.tx': () => ofInbox((tx) => tx),
      'pgClient(ctx.tx)': () => ofInbox((tx) => pgClient(tx)),
    },
    failsAfterChange: false,
    costs: { ofCounting: 0, ofRepeat: 1 },
    waiting: () =>
      eventually(async () => {
        const waits = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and application_name = $1`
        return (await place.pool.query(waits, [name])).rows.length > 0
      }),
    async close() {
      await Promise.all(clients.map((client) => client.end()))
      await pool.end()
      await place.close()
    },
  }
}

function sessionOf(client: Pick<Client, 'query'>, done: () => void = () => {}): Session {
  let trips = 0
  // Whatever was sent, the server ends its answer with one such message.
  wireOf(client).on('readyForQuery', () => trips++)
  return {
    tx: client,
    roundTrips: async () => trips,
    run: async (sql) => (await client.query(sql)).rows as Record<string, unknown>[],
    end: async (how) => {
      await client.query(how)
      done()
    },
  }
}

/** pg has it, and does not document it. */
function wireOf(client: object): EventEmitter {
  return (client as { readonly connection: EventEmitter }).connection
}

import { expect, it } from '@jest/globals'
import { Pool } from 'pg'
import { postgresOutbox } from '../../adapters/pg/index.ts'
import { backends } from '../../test/kit/backends.ts'
import { eventually, untilResolved } from '../../test/kit/eventually.ts'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { startPrivatePostgres, type PrivatePostgres } from '../../test/kit/servers/private-postgres.ts'
import { Confirming } from '../../test/kit/suites/outbox/confirming.ts'
import { describePostgres } from '../../test/pg/support.ts'

const KEYS = 5

describePostgres('the relay of an outbox whose database fails over', () => {
  let primary: PrivatePostgres
  let standby: PrivatePostgres

  beforeAllOpen(async (own) => {
    if (!backends.has('postgres')) return
    primary = own(await startPrivatePostgres())
    standby = own(await startPrivatePostgres({ replicaOf: primary }))
  })

  it('publishes all that was committed, in the order of each key, once a synchronous standby is promoted', async () => {
    const settings = new Pool({ connectionString: primary.url, max: 1 })
    settings.on('error', () => {})
    await settings.query(`alter system set synchronous_standby_names = '*'`)
    await settings.query('select pg_reload_conf()')
    await eventually(async () => {
      const { rows } = await settings.query<{ state: string }>('select sync_state as state from pg_stat_replication')
      return rows.some(({ state }) => state === 'sync')
    })
    // As a proxy or a name would: connections lead to the one that is the primary.
    let port = Number(new URL(primary.url).port)
    const pool = new Pool({ connectionString: primary.url, max: 6 })
    pool.on('error', () => {})
    const { options } = pool
    Object.defineProperty(options, 'connectionString', { value: undefined })
    Object.assign(options, { host: '127.0.0.1', user: 'postgres', database: 'postgres' })
    Object.defineProperty(options, 'port', { get: () => port, enumerable: true, configurable: true })

    const kafka = new Confirming()
    kafka.answer = () => new Promise((resolve) => void setTimeout(resolve, 2))
    const told: string[] = []
    const observe = ({ event }: { readonly event: string }): void => void told.push(event)
    const outbox = postgresOutbox({ pool, publishers: { kafka }, observe })
    await outbox.open()
    outbox.start()
    const committed: string[] = []
    const write = async (n: number): Promise<void> => {
      const client = await pool.connect()
      let cause: Error | undefined
      const note = (error: Error): void => void (cause = error)
      client.on('error', note)
      try {
        await client.query('begin')
        const [key, value] = [`k${n % KEYS}`, `k${n % KEYS} ${n}`]
        await outbox.publish(client, { topic: 't', key, value, messageId: `id-${n}` })
        await client.query('commit')
        committed.push(`id-${n}`)
      } catch (error) {
        cause = error as Error
        throw error
      } finally {
        client.removeListener('error', note)
        client.release(cause)
      }
    }
    for (let n = 0; n < 150; n++) await write(n)
    const killed = primary.kill()
    port = Number(new URL(standby.url).port)
    await killed
    const promoted = new Pool({ connectionString: standby.url, max: 1 })
    await promoted.query('select pg_promote()')
    let next = 150
    for (; next < 250; next++) {
      const n = next
      await untilResolved(() => write(n), 30_000)
    }
    await eventually(async () => {
      const { rows } = await promoted.query<{ n: string }>('select count(*) as n from consume_once.outbox')
      return Number(rows[0]?.n) === 0
    })
    await outbox.stop(1_000)
    expect(committed.filter((id) => !kafka.ids.includes(id))).toEqual([])
    const last = new Map<string, number>()
    const seen = new Set<string>()
    for (const [at, id] of kafka.ids.entries()) {
      if (seen.has(id)) continue
      seen.add(id)
      const [key = '', n = ''] = kafka.texts[at]?.split(' ') ?? []
      expect(Number(n)).toBeGreaterThan(last.get(key) ?? -1)
      last.set(key, Number(n))
    }
    expect(told).toContain('waits')
    await Promise.all([settings, pool, promoted].map((one) => one.end().catch(() => {})))
  }, 120_000)
})

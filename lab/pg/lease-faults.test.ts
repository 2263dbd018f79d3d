import { expect, it } from '@jest/globals'
import { beforeEachOpen } from '../../test/kit/opened.ts'
import { Pool } from 'pg'
import { postgresLease } from '../../adapters/pg/index.ts'
import { claim, hold, newItem } from '../../testing/contract/store/claims.ts'
import { startPrivatePostgres } from '../../test/kit/servers/private-postgres.ts'
import { server } from '../../test/kit/servers/server.ts'
import { startProxyOf } from '../../test/kit/fault-proxy.ts'
import { pgLeaseHarness, type PgLeaseHarness } from '../../test/pg/lease-harness.ts'
import { ALONE, codeOf, describePostgres } from '../../test/pg/support.ts'
import { LOST_ANSWERS, losingEach, type LeaseOnLink } from '../stores/lease-lost-answers.ts'

describePostgres('postgresLease, when an answer is lost', () => {
  let harness: PgLeaseHarness
  let onLink: LeaseOnLink
  beforeEachOpen(async (own) => {
    harness = own(await pgLeaseHarness())
    const { place, newLease, store: before, forget = async () => {} } = harness
    const link = own(await startProxyOf((await server('postgres')).url, 5432))
    const pool = place.newPool({ connectionString: link.url, max: 1 })
    pool.on('error', () => {})
    const store = await newLease({ pool, lockTimeoutMs: 100, queryTimeoutMs: 300 })
    const decisions = `select decision, by_whom, reason from ${place.schema}.audit order by at`
    const audit = async (): Promise<readonly unknown[]> => (await place.pool.query(decisions)).rows
    onLink = { link, store, before, forget, audit }
  })

  // oxlint-disable-next-line jest/expect-expect -- losingEach() expects
  it.each(LOST_ANSWERS)('does what it was asked for once: %s, each of its requests %s', async (name, fault) =>
    losingEach(onLink, name, fault),
  )
})

describePostgres('postgresLease, when its server goes down', () => {
  it('keeps what it has answered over a crash, whatever synchronous_commit says', async () => {
    await using postgres = await startPrivatePostgres({
      settings: { synchronous_commit: 'off', wal_writer_delay: '10s' },
    })
    const pool = new Pool({ connectionString: postgres.url, max: 2 })
    pool.on('error', () => {})
    const store = postgresLease({ pool })
    await store.open()
    const [held, marked, parked] = [newItem(), newItem(), newItem()]
    const { claim: ofMarked } = await hold(store, marked)
    const { claim: ofParked } = await hold(store, parked)
    await store.mark([ofMarked])
    await store.setAside([ofParked], 'parked', { reason: 'wait' })
    const { claim: ofHeld } = await hold(store, held)
    await postgres.kill()
    expect(await codeOf(claim(store, newItem()))).toMatch(/^STORE_/)
    await postgres.restart()
    expect(await claim(store, marked)).toMatchObject({ verdict: 'done' })
    expect(await claim(store, parked)).toMatchObject({ verdict: 'parked', reason: 'wait' })
    // A worker that died with the server would leave it in doubt, and not as if nothing had begun.
    expect(await claim(store, held, ALONE)).toMatchObject({ verdict: 'busy' })
    expect(await store.mark([ofHeld])).toEqual(['marked'])
    await pool.end()
  }, 60_000)

  it('rejects while nobody answers, and goes on after', async () => {
    const harness = await pgLeaseHarness()
    const { claim: claimed } = await hold(harness.store, newItem())
    await harness.place.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and query like '%${harness.place.schema}%'`,
    )
    const marks = []
    for (let tries = 0; tries < 3 && marks.length === 0; tries++) {
      marks.push(...(await harness.store.mark([claimed]).catch(() => [])))
    }
    expect(marks).toEqual(['marked'])
    await harness.close()
  })
})

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { Pool } from 'pg'
import { postgresLease } from '../../adapters/pg/index.ts'
import { hasCode, type Store } from '../../src/index.ts'
import { claim, hold, newItem, newToken, SCOPE } from '../../testing/contract/store/claims.ts'
import { startPrivatePostgres } from '../../test/kit/servers/private-postgres.ts'
import { server } from '../../test/kit/servers/server.ts'
import { startFaultProxy, type Fault, type FaultProxy } from '../../test/kit/fault-proxy.ts'
import { pgLeaseHarness, type PgLeaseHarness } from '../../test/pg/lease-harness.ts'
import { ALONE, codeOf, describePostgres, NO_REFUND, REFUND } from '../../test/pg/support.ts'

const FAULTS: readonly Fault[] = ['cut before', 'cut after', 'swallowed']
/** A claim asks twice about a key that has a record: the second request is what grants it. */
const TO_WHAT_IS_KEPT = 1
const WHY = { by: 'somebody', reason: 'it was looked at', retentionMs: 60_000 }

describePostgres('postgresLease, when an answer is lost', () => {
  let harness: PgLeaseHarness
  let link: FaultProxy
  let store: Store
  beforeEach(async () => {
    harness = await pgLeaseHarness()
    const url = new URL((await server('postgres')).url)
    link = await startFaultProxy(Number(url.port || 5432))
    url.hostname = '127.0.0.1'
    url.port = String(link.port)
    const pool = harness.place.newPool({ connectionString: url.href, max: 1 })
    pool.on('error', () => {})
    store = await harness.newLease({ pool, lockTimeoutMs: 100, queryTimeoutMs: 300 })
    // Its scope is known from here on, so that the request that meets a fault is that of the call.
    await store.mark([(await hold(store, newItem())).claim])
  })
  afterEach(async () => {
    await link[Symbol.asyncDispose]()
    await harness.close()
  })

  /** Asks as the pipeline does: the same again, until there is an answer. */
  async function despite<T>(fault: Fault, call: () => Promise<T>, after = 0): Promise<T> {
    const before = link.faults
    link.breakNext(fault, after)
    for (;;) {
      try {
        const answer = await call()
        expect(link.faults).toBeGreaterThan(before)
        return answer
      } catch (error) {
        if (!hasCode(error, 'STORE_AMBIGUOUS') && !hasCode(error, 'STORE_UNREACHABLE')) throw error
      }
    }
  }

  describe.each(FAULTS)('its request %s', (fault) => {
    const isFirst = fault === 'cut before'

    it('is granted the claim it has been granted, once', async () => {
      const item = newItem()
      const token = newToken()
      const granted = await despite(fault, () => claim(store, item, { token }))
      expect(granted).toMatchObject({ verdict: 'claimed', fence: 1, attempt: 1 })
      expect(await claim(harness.store, item, ALONE)).toMatchObject({ verdict: 'busy' })
    })

    it('is told once more that it took over', async () => {
      const item = newItem()
      await hold(harness.store, item, { leaseMs: 0 })
      const again = { ...ALONE, token: newToken() }
      const taken = await despite(fault, () => claim(store, item, again), TO_WHAT_IS_KEPT)
      expect(taken).toMatchObject({ verdict: 'taken-over', fence: 2, attempt: 2 })
    })

    it('is granted what was released, with one more attempt', async () => {
      const item = newItem()
      await harness.store.release([(await hold(harness.store, item)).claim], NO_REFUND)
      const token = newToken()
      const granted = await despite(fault, () => claim(store, item, { token }), TO_WHAT_IS_KEPT)
      expect(granted).toMatchObject({ verdict: 'claimed', fence: 2, attempt: 2 })
    })

    it('renews its lease', async () => {
      const item = newItem()
      const { claim: claimed } = await hold(store, item, { leaseMs: 0 })
      expect(await despite(fault, () => store.renew([claimed], 60_000))).toEqual(['renewed'])
      expect(await claim(harness.store, item, ALONE)).toMatchObject({ verdict: 'busy' })
    })

    it('is told that its mark stands', async () => {
      const item = newItem()
      const { claim: claimed } = await hold(store, item)
      expect(await despite(fault, () => store.mark([claimed], ['v1']))).toEqual([isFirst ? 'marked' : 'already-marked'])
      expect(await claim(harness.store, item)).toEqual({ verdict: 'done', result: 'v1' })
    })

    it('is told that its late mark stands, of a record that is gone', async () => {
      const item = newItem()
      const { claim: claimed } = await hold(store, item)
      await harness.forget?.(item.key)
      const verdict = isFirst ? 'marked-late' : 'already-marked'
      expect(await despite(fault, () => store.mark([claimed]))).toEqual([verdict])
      expect(await claim(harness.store, item)).toEqual({ verdict: 'done' })
    })

    it('gets its attempt back once', async () => {
      const item = newItem()
      const { claim: claimed } = await hold(store, item)
      const verdict = isFirst ? 'released' : 'already-released'
      expect(await despite(fault, () => store.release([claimed], REFUND))).toEqual([verdict])
      expect(await claim(harness.store, item)).toMatchObject({ verdict: 'claimed', attempt: 1 })
    })

    it('is told how it was set aside', async () => {
      const [doubtful, clean] = [newItem(), newItem()]
      await hold(store, doubtful, { leaseMs: 0 })
      const { claim: taken } = await hold(store, doubtful, ALONE)
      expect(await despite(fault, () => store.setAside([taken], 'given-up', { reason: 'no' }))).toEqual(['parked'])
      const { claim: claimed } = await hold(store, clean)
      expect(await despite(fault, () => store.setAside([claimed], 'given-up', { reason: 'no' }))).toEqual(['given-up'])
    })

    it('writes a decision down once', async () => {
      const item = newItem()
      await store.setAside([(await hold(store, item)).claim], 'parked', { reason: 'wait' })
      const decided = await despite(
        fault,
        async () => (await store.admin?.resolve(SCOPE, [item.key], { ...WHY, as: 'done' })) ?? [],
      )
      expect(decided).toEqual([isFirst ? 'decided' : 'already'])
      const { pool, schema } = harness.place
      const { rows } = await pool.query(`select decision, by_whom, reason, before from ${schema}.audit`)
      expect(rows).toEqual([
        {
          decision: 'done',
          by_whom: WHY.by,
          reason: WHY.reason,
          before: expect.objectContaining({ state: 'parked', fence: 1, reason: 'wait' }),
        },
      ])
    })
  })
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
    expect(await claim(store, marked)).toEqual({ verdict: 'done' })
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

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import type { PoolClient } from 'pg'
import type { Store } from '../../src/index.ts'
import type { Claim } from '../../src/internal.ts'
import { claim, claimAll, grantedBy, hold, newItem, newName, SCOPE } from '../../testing/contract/store/claims.ts'
import { server } from '../kit/servers/server.ts'
import { pgLeaseHarness, type PgLeaseHarness } from './lease-harness.ts'
import { compiled } from '../kit/compiled.ts'
import { ALONE, codeOf, describePostgres, NO_REFUND } from './support.ts'

const WHY = { by: 'somebody', reason: 'it was looked at', retentionMs: 60_000 }

describePostgres('postgresLease beside others', () => {
  let harness: PgLeaseHarness
  let store: Store
  let other: PoolClient
  beforeEach(async () => {
    harness = await pgLeaseHarness({ lockTimeoutMs: 300 })
    store = harness.store
    other = await harness.place.pool.connect()
  })
  afterEach(async () => {
    await other.query('rollback')
    other.release()
    await harness.close()
  })

  /** Another hand changes the row of a key, and commits once the call waits for it. */
  async function whileChanged<T>(claimed: Claim, change: string, call: () => Promise<T>): Promise<T> {
    const { schema } = harness.place
    await other.query(`begin; update ${schema}.lease set ${change} where key = '\\x${hexOf(claimed)}'`)
    const answer = call()
    await untilSomebodyWaits()
    await other.query('commit')
    return answer
  }

  async function untilSomebodyWaits(): Promise<void> {
    const text = `select count(*)::int as n from pg_stat_activity where pg_backend_pid() = any (pg_blocking_pids(pid))`
    for (let tries = 0; tries < 200; tries++) {
      if ((await other.query<{ n: number }>(text)).rows[0]?.n !== 0) return
    }
    throw new Error('expected a call that waits')
  }

  it('sees what it has waited for, and not what it began with', async () => {
    const taken = `owner = 'another', fence = fence + 1, lease_until = now() + interval '1 hour'`
    const hands: readonly [string, (claimed: Claim) => Promise<unknown>, unknown][] = [
      [taken, (one) => store.mark([one]), ['refused-busy']],
      [taken, (one) => store.renew([one], 60_000), ['lost']],
      [taken, (one) => store.release([one], NO_REFUND), ['refused']],
      [taken, (one) => store.setAside([one], 'parked', { reason: 'no' }), ['refused']],
      [`state = 'D', owner = 'another'`, (one) => store.mark([one]), ['refused-done']],
      [`state = 'D'`, (one) => store.mark([one]), ['already-marked']],
      [`state = 'R'`, (one) => store.mark([one]), ['marked-late']],
      [`state = 'R'`, (one) => store.release([one], NO_REFUND), ['already-released']],
      [`state = 'X', rest = 'wait'`, (one) => store.setAside([one], 'parked', { reason: 'no' }), ['parked']],
      [`doubt = true`, (one) => store.setAside([one], 'given-up', { reason: 'no' }), ['parked']],
      [`keep_until = now()`, (one) => store.renew([one], 60_000), ['lost']],
      [`keep_until = now()`, (one) => store.mark([one]), ['marked-late']],
    ]
    for (const [change, call, verdict] of hands) {
      const { claim: claimed } = await hold(store, newItem())
      expect([change, await whileChanged(claimed, change, () => call(claimed))]).toEqual([change, verdict])
    }
  })

  it('claims what it has waited for as it is by then', async () => {
    const hands = [
      [`fence = 7, attempts = 3`, { verdict: 'claimed', fence: 8, attempt: 4 }],
      [`doubt = true`, { verdict: 'taken-over', fence: 2, attempt: 2 }],
      [`state = 'D', rest = 'v1'`, { verdict: 'done', result: 'v1' }],
      [`fp = '\\x00'`, { verdict: 'conflict' }],
      [`keep_until = now()`, { verdict: 'claimed', fence: 1, attempt: 1 }],
      [`state = 'P', owner = 'another', lease_until = now() + interval '1 hour'`, { verdict: 'busy' }],
    ] as const
    for (const [change, answer] of hands) {
      const item = newItem()
      const { claim: claimed } = await hold(store, item)
      await store.release([claimed], NO_REFUND)
      expect(await whileChanged(claimed, change, () => claim(store, item, ALONE))).toMatchObject(answer)
    }
  })

  it('claims, marks and decides what was removed while it waited', async () => {
    const { schema } = harness.place
    const removed = async <T>(claimed: Claim, call: () => Promise<T>): Promise<T> => {
      await other.query(`begin; delete from ${schema}.lease where key = '\\x${hexOf(claimed)}'`)
      const answer = call()
      await untilSomebodyWaits()
      await other.query('commit')
      return answer
    }
    const [first, second, third] = [newItem(), newItem(), newItem()]
    const { claim: ofFirst } = await hold(store, first)
    expect(await removed(ofFirst, () => claim(store, first))).toMatchObject({ verdict: 'claimed', fence: 1 })
    const { claim: ofSecond } = await hold(store, second)
    expect(await removed(ofSecond, () => store.mark([ofSecond]))).toEqual(['marked-late'])
    const { claim: ofThird } = await hold(store, third)
    await store.setAside([ofThird], 'given-up', { reason: 'no' })
    expect(await removed(ofThird, async () => store.admin?.reopen(SCOPE, [third.key], WHY))).toEqual(['already'])
  })

  it('waits for a lock no longer than lockTimeoutMs: a claim is busy, anything else is asked again', async () => {
    const item = newItem()
    const { claim: claimed } = await hold(store, item)
    const { claim: released } = await hold(store, newItem())
    await store.release([released], NO_REFUND)
    const rows = [claimed, released].map((one) => `'\\x${hexOf(one)}'`).join(', ')
    await other.query(`begin; select * from ${harness.place.schema}.lease where key in (${rows}) for update`)
    // Who only looks does not wait.
    expect(await claim(store, item, ALONE)).toMatchObject({ verdict: 'busy' })
    const innocent = newItem()
    const answers = await claimAll(store, [released, innocent])
    expect(answers).toMatchObject([{ verdict: 'busy', leaseLeftMs: 300 }, { verdict: 'claimed' }])
    for (const call of [
      () => store.mark([claimed]),
      () => store.renew([claimed], 60_000),
      () => store.release([claimed], NO_REFUND),
      () => store.setAside([claimed], 'parked', { reason: 'no' }),
    ]) {
      expect(await codeOf(call())).toBe('STORE_UNREACHABLE')
    }
    await other.query('rollback')
    expect(await store.mark([claimed, grantedBy(answers[1]).claim])).toEqual(['marked', 'marked'])
  })

  it('grants each key to one of two processes that claim it at once, and no batch waits in a circle', async () => {
    const keys = Array.from({ length: 2_000 }, () => newName())
    const batches = Array.from({ length: 20 }, (_, at) => keys.slice(at * 100, (at + 1) * 100))
    const crossing = Array.from({ length: 20 }, (_, at) => keys.filter((_key, index) => index % 20 === at).toReversed())
    const { url } = await server('postgres')
    const { schema } = harness.place
    const rivals = [batches, crossing].map((own) => startRival({ url, schema, batches: own }))
    await Promise.all(rivals.map(({ ready }) => ready))
    for (const { child } of rivals) child.send('go')
    const granted = (await Promise.all(rivals.map((rival) => rival.granted))).flat()
    expect(granted.toSorted()).toEqual(keys.toSorted())
    const text = `select state::text, fence, attempts, count(*)::int as n from ${schema}.lease group by 1, 2, 3`
    expect((await harness.place.pool.query(text)).rows).toEqual([{ state: 'D', fence: 1, attempts: 1, n: 2_000 }])
  }, 60_000)
})

interface Rival {
  readonly child: ChildProcess
  readonly ready: Promise<unknown>
  readonly granted: Promise<readonly string[]>
}

const RIVAL = compiled(new URL('lease-rival.ts', import.meta.url))

function startRival(contest: object): Rival {
  const child = spawn(process.execPath, [RIVAL, JSON.stringify(contest)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const ready = once(child, 'message')
  const granted = ready.then(() => once(child, 'message')).then(([keys]) => keys as readonly string[])
  return { child, ready, granted }
}

function hexOf({ key }: Claim): string {
  return Buffer.from(key, 'base64url').toString('hex')
}

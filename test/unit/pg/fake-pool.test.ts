import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from '@jest/globals'
import { postgresInbox } from '../../../adapters/pg/index.ts'
import { claim, claimAll, hold, newItem } from '../../../testing/contract/store/claims.ts'
import { fakePool, granting } from '../../pg/fake-pool.ts'
import { codeOf } from '../../pg/support.ts'

const item = newItem()

const failing = (message: string, code?: string) => (): Promise<never> =>
  Promise.reject(Object.assign(new Error(message), code === undefined ? {} : { code }))

describe('postgresInbox on a server that answers as it seldom does', () => {
  it('takes a COMMIT with a tag it does not know for unknown', async () => {
    const { pool } = granting(item, { '\ncommit': { command: null } })
    const inbox = postgresInbox({ pool })
    const { claim: claimed } = await hold(inbox, item)
    expect(await codeOf(inbox.mark([claimed]))).toBe('STORE_AMBIGUOUS')
  })

  it('refuses a mark whose COMMIT is answered ROLLBACK', async () => {
    const { pool } = granting(item, { '\ncommit': { command: 'ROLLBACK' } })
    const inbox = postgresInbox({ pool })
    const { claim: claimed } = await hold(inbox, item)
    expect(await codeOf(inbox.mark([claimed]))).toBe('COMMIT_REFUSED')
    expect(await inbox.mark([claimed])).toEqual(['refused-busy'])
  })

  it.each(['40P01', '40001'])('claims again after %s, a few times', async (code) => {
    const { pool, sent } = granting(item, { begin: failing('chosen to lose', code) })
    expect(await codeOf(claim(postgresInbox({ pool }), item))).toBe('STORE_UNREACHABLE')
    expect(sent.filter((text) => text.includes('savepoint'))).toHaveLength(5)
    const uncounted = sent.filter((text) => text.includes('delete from') && !text.includes('savepoint'))
    expect(uncounted).toHaveLength(5)
    expect(sent.filter((text) => text === 'rollback')).toHaveLength(5)
  })

  it('gives the attempt back when the COMMIT is chosen to lose', async () => {
    const { pool, sent } = granting(item, { '\ncommit': failing('chosen to lose', '40001') })
    const inbox = postgresInbox({ pool })
    const { claim: claimed } = await hold(inbox, item)
    expect(await codeOf(inbox.mark([claimed]))).toBe('COMMIT_REFUSED')
    expect(sent.filter((text) => text.includes("set phase = 'e'"))).toHaveLength(1)
  })

  it.each(['57P01', '08006', 'XX000', 'ECONNRESET', 'EPIPE'])(
    'takes a COMMIT answered by %s for unknown',
    async (code) => {
      const { pool, releases } = granting(item, { '\ncommit': failing('lost', code) })
      const inbox = postgresInbox({ pool })
      const { claim: claimed } = await hold(inbox, item)
      expect(await codeOf(inbox.mark([claimed]))).toBe('STORE_AMBIGUOUS')
      expect(releases.at(-1)).toBeInstanceOf(Error)
    },
  )

  it('closes a connection whose answer stays out, also of a rollback', async () => {
    const { pool, releases } = granting(item, {
      '\ncommit': () => new Promise(() => {}),
      rollback: () => new Promise(() => {}),
    })
    const inbox = postgresInbox({ pool, lockTimeoutMs: 5, queryTimeoutMs: 20 })
    const { claim: marked } = await hold(inbox, item)
    expect(await codeOf(inbox.mark([marked]))).toBe('STORE_AMBIGUOUS')
    const { claim: released } = await hold(inbox, item)
    expect(await inbox.release([released], { refund: false, doubt: false })).toEqual(['released'])
    expect(releases.filter((error) => error !== undefined)).toHaveLength(2)
  })

  it('gives a connection back that comes too late', async () => {
    const { pool, releases } = granting(item)
    const connect = pool.connect.bind(pool)
    pool.connect = () => sleep(40).then(connect)
    const inbox = postgresInbox({ pool, lockTimeoutMs: 5, queryTimeoutMs: 20 })
    expect(await codeOf(claim(inbox, item))).toBe('STORE_UNREACHABLE')
    await sleep(60)
    expect(releases).toEqual([undefined])
  })

  it('asks once for what is done after a batch that was mostly done', async () => {
    const key = Buffer.from(item.key, 'base64url').toString('hex', 0, 16)
    const record = { key, outcome: 'd', fp: null, owner: null, reason: null, result: null, is_late: false }
    const { pool, sent } = granting(item, {
      begin: { rows: [{ keys: null, transaction: null, oldest: null, is_read_committed: true }] },
      'as is_late': { rows: [record] },
    })
    const inbox = postgresInbox({ pool })
    // The first claim also finds the scope and writes since when it is known.
    for (const statements of [5, 1, 1]) {
      sent.length = 0
      expect(await claim(inbox, item)).toMatchObject({ verdict: 'done' })
      expect(sent).toHaveLength(statements)
    }
    // One of them is not done: all are claimed as ever.
    sent.length = 0
    await claimAll(inbox, [item, newItem()])
    expect(sent.map((text) => text.split(/\s/)[0])).toEqual(['select', 'begin', 'rollback;', 'select'])
  })

  it('listens for errors of the pool where nobody does', () => {
    const { pool } = fakePool({})
    postgresInbox({ pool })
    postgresInbox({ pool })
    expect(pool.listenerCount('error')).toBe(1)
  })
})

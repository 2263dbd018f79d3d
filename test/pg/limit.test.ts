import { expect, it } from '@jest/globals'
import { Pool } from 'pg'
import type { SharedQuota } from 'consume-once'
import { postgresLimit } from 'consume-once/rate-limiter-flexible'
import { closedAfterEach } from '../kit/after-each.ts'
import { uniqueName } from '../kit/namespace.ts'
import { startPrivatePostgres } from '../kit/servers/private-postgres.ts'
import { server } from '../kit/servers/server.ts'
import { rateOf } from '../redis/limit-processes.ts'
import { describePostgres } from './support.ts'

const closing = closedAfterEach()

function poolOn(connectionString: string): Pool {
  const pool = new Pool({ connectionString, max: 2 })
  pool.on('error', () => {})
  closing.push(() => pool.end())
  return pool
}

async function quota(permits: number, seconds = 60): Promise<{ one: SharedQuota; other: SharedQuota; table: string }> {
  const { url } = await server('postgres')
  const table = uniqueName('limits')
  const pool = poolOn(url)
  closing.push(() => pool.query(`drop table if exists public.${table}`))
  const [one, other] = [pool, poolOn(url)].map((of) =>
    postgresLimit({ pool: of, name: 'sms', table }).quota(permits, seconds),
  )
  if (one === undefined || other === undefined) throw new TypeError('two were opened')
  return { one, other, table }
}

describePostgres('postgresLimit', () => {
  it('grants no more in a window than it has, to all together, and the last call its part', async () => {
    const { one, other } = await quota(10)
    const both = await Promise.all([one.take('a', 4), other.take('a', 4)])
    expect(both.map(({ granted }) => granted)).toEqual([4, 4])
    const last = await one.take('a', 4)
    expect(last.granted).toBe(2)
    expect(last.retryAfterMs).toBeGreaterThan(1_000)
    expect([(await other.take('a', 1)).granted, (await other.take('b', 1)).granted]).toEqual([0, 1])
  })

  it('holds a key back for all, and a shorter time does not end a longer one', async () => {
    const { one, other } = await quota(10, 1)
    await one.holdBack('a', 60_000)
    await other.holdBack('a', 1_000)
    const answer = await other.take('a', 1)
    expect(answer.granted).toBe(0)
    expect(answer.retryAfterMs).toBeGreaterThan(50_000)
  })

  it('refuses to grant while its server is away or its table is missing, and goes on after it', async () => {
    const postgres = await startPrivatePostgres()
    closing.push(() => postgres.stop())
    const pool = poolOn(postgres.url)
    const without = postgresLimit({ pool, name: 'sms', create: false }).quota(5, 100_000)
    await expect(without.take('a', 1)).rejects.toThrow(/consume_once_limits/)
    const limit = postgresLimit({ pool, name: 'sms' }).quota(5, 100_000)
    await postgres.kill()
    await expect(limit.take('a', 1)).rejects.toThrow(/ECONNREFUSED|terminat/)
    await postgres.restart()
    expect((await limit.take('a', 1)).granted).toBe(1)
    expect((await without.take('a', 5)).granted).toBe(4)
  }, 60_000)

  it('is not passed by three processes', async () => {
    const { url } = await server('postgres')
    const name = uniqueName('limits')
    const pool = poolOn(url)
    closing.push(() => pool.query(`drop table if exists public.${name}`))
    const rate = await rateOf({ url, name, processes: 3, perSecond: 100, seconds: 8 })
    expect(rate.perSecond).toBeGreaterThan(60) // On a busy machine; lab/limits measures what is lost.
    expect(rate.perSecond).toBeLessThan(102)
  }, 60_000)

  it.each([
    [{ name: 'sms' }, /pool: expected a Pool of pg/],
    [{ pool: { query: () => {} }, name: 'sms', table: 'Limits' }, /table: expected a lower-case identifier/],
    [{ pool: { query: () => {} }, name: 'sms', create: 'no' }, /create: expected true or false/],
  ])('refuses %p', (options, problem) => {
    expect(() => postgresLimit(options as never)).toThrow(problem)
  })
})

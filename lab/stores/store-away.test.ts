import { afterEach, describe, expect, it } from '@jest/globals'
import { Pool } from 'pg'
import { Registry } from 'prom-client'
import { defineConsumer, messageId, OutcomeUnknownError, type Store } from 'consume-once'
import { serveHealth } from 'consume-once/health'
import { postgresInbox } from 'consume-once/pg'
import { prometheus } from 'consume-once/prometheus'
import { runConsumer } from '../../src/run/run.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { RecordingSource } from '../../test/kit/recording-source.ts'
import type { PrivateInstance } from '../../test/kit/servers/private-instance.ts'
import { startPrivatePostgres } from '../../test/kit/servers/private-postgres.ts'
import { startPrivateRedis } from '../../test/kit/servers/private-redis.ts'
import { LIBRARIES } from '../../test/redis/clients.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
}, 30_000)

/** Not ready from the second probe on, and ready again when the server is back. */
async function isUnreadyWhileAway(store: Store<unknown>, server: PrivateInstance): Promise<void> {
  const source = new RecordingSource()
  let checkStore: (() => Promise<void>) | undefined
  const consumer = defineConsumer({
    name: 'sms-sender',
    id: messageId.header('message-id'),
    store,
    observe: (event) => {
      if (event.type === 'started') ({ checkStore } = event)
    },
    handle: () => {},
  })
  const running = await runConsumer(consumer, { source, publisher: source })
  ends.push(() => running.stop({ deadlineMs: 0 }))
  expect(running.health().ready).toBe(true)
  // Until the question of this first probe is answered.
  await checkStore?.()
  await server.kill()
  await eventually(() => running.health().checks['store'] === 'down', 20_000)
  expect(source.isPaused).toBe(true)
  await server.restart()
  await eventually(() => running.health().checks['store'] === 'ok', 20_000)
  expect(source.isPaused).toBe(false)
}

describe.each(LIBRARIES)('an idle consumer whose Redis stops ($name)', (library) => {
  it('says so at the next scrape and probe, and goes on reporting what waits for a person', async () => {
    const server = await startPrivateRedis()
    ends.push(() => server.stop())
    const client = await library.connect(server.url)
    ends.push(client.close)
    const registry = new Registry()
    const source = new RecordingSource()
    const consumer = defineConsumer({
      name: 'sms-sender',
      id: messageId.header('message-id'),
      store: client.lease(),
      onInDoubt: 'park',
      observe: [prometheus({ registry })],
      handle: () => Promise.reject(new OutcomeUnknownError('the provider did not answer')),
    })
    const running = await runConsumer(consumer, { source, publisher: source })
    ends.push(() => running.stop({ deadlineMs: 0 }))
    const health = await serveHealth(running, { port: 0, host: '127.0.0.1', metrics: registry })
    ends.push(() => health.close())
    const status = async (): Promise<number> => (await fetch(`http://127.0.0.1:${health.port}/readyz`)).status
    const scraped = async (): Promise<(name: string) => number | undefined> => {
      const text = await (await fetch(`http://127.0.0.1:${health.port}/metrics`)).text()
      return (name) => {
        const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`))
        return lines.length === 0 ? undefined : lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
      }
    }
    source.deliver(...Array.from({ length: 7 }, (_, at) => ({ headers: { 'message-id': `m-${at}` } })))
    await eventually(() => source.deadLetters.length === 7)
    const before = await scraped()
    expect(['consume_once_parked_messages', 'consume_once_store_up'].map(before)).toEqual([7, 1])
    expect(await status()).toBe(200)

    await server.kill()
    const killedAt = performance.now()
    let last = before
    await eventually(async () => (last = await scraped())('consume_once_store_up') === 0, 20_000)
    expect(performance.now() - killedAt).toBeLessThan(15_000)
    expect(await status()).toBe(503)
    expect(last('consume_once_parked_messages')).toBe(7)
    expect(last('consume_once_store_reading_age_seconds')).toBeGreaterThan(0)

    await server.restart()
    await eventually(async () => (await status()) === 200, 20_000)
    expect((await scraped())('consume_once_store_up')).toBe(1)
    expect((await scraped())('consume_once_parked_messages')).toBe(7)
  }, 90_000)

  // oxlint-disable-next-line jest/expect-expect -- isUnreadyWhileAway() expects
  it('is not ready from the second probe on, without metrics', async () => {
    const server = await startPrivateRedis()
    ends.push(() => server.stop())
    const client = await library.connect(server.url)
    ends.push(client.close)
    await isUnreadyWhileAway(client.lease(), server)
  }, 90_000)
})

describe('an idle consumer whose database stops', () => {
  // oxlint-disable-next-line jest/expect-expect -- isUnreadyWhileAway() expects
  it('is not ready from the second probe on (Postgres, inbox)', async () => {
    const server = await startPrivatePostgres()
    ends.push(() => server.stop())
    const pool = new Pool({ connectionString: server.url, max: 4, connectionTimeoutMillis: 2_000 })
    pool.on('error', () => {})
    ends.push(() => pool.end())
    await isUnreadyWhileAway(postgresInbox({ pool }), server)
  }, 120_000)
})

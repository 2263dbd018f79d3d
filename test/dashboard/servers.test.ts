import { describe, expect, it, jest } from '@jest/globals'
import { Redis } from 'ioredis'
import { serveHealth } from '../../adapters/health/index.ts'
import { redisLease } from '../../adapters/redis/index.ts'
import type { JobInfo, SessionInfo } from '../../dashboard/api.ts'
import { dashboard, type DashboardOptions } from '../../dashboard/server/index.ts'
import { defineConsumer, liveSignals, type ConfiguredConsumer } from '../../src/index.ts'
import { definitionOf } from '../../src/consumer/define-consumer.ts'
import { scopeName } from '../../src/consumer/scope.ts'
import { backends } from '../kit/backends.ts'
import { Page, pagesFolder } from '../kit/dashboard.ts'
import { eventually } from '../kit/eventually.ts'
import { uniqueName } from '../kit/namespace.ts'
import { turnsDuring } from '../kit/turns.ts'
import { startPrivateRedis } from '../kit/servers/private-redis.ts'
import { Incident, sms } from '../replay/incident.ts'
import { replayed } from '../replay/settings.ts'
import { closedAfterEach } from '../kit/after-each.ts'
import { newFolder } from '../kit/servers/private-instance.ts'

jest.setTimeout(120_000)
const onAll = backends.has('kafka') && backends.has('rabbitmq') && backends.has('redis') && backends.has('postgres')
const describeServers = onAll ? describe : describe.skip

const closing = closedAfterEach()

function openedOf({ settings }: Incident): ConfiguredConsumer {
  const opened = replayed(settings)
  closing.push(() => opened.close())
  const { consumer, subscription } = opened
  return { consumer, subscription }
}

/** A Redis of its own: a list scans all keys of a server, also those of other tests. */
async function incidentOn(broker: 'kafka' | 'rabbitmq', store: 'redis' | 'postgres'): Promise<Incident> {
  if (store === 'postgres') return Incident.on(broker, store)
  const redis = await startPrivateRedis()
  closing.push(() => redis.stop())
  return Incident.on(broker, store, { redis: redis.url })
}

const writable = (): Partial<DashboardOptions> => ({
  readOnly: false,
  auth: () => ({ by: 'kim' }),
  journals: newFolder('journals'),
})

function pageOf(entry: ConfiguredConsumer, options: Partial<DashboardOptions> = {}): Page {
  return new Page(dashboard({ consumers: [entry], pages: pagesFolder(), ...options }))
}

async function ended(page: Page, { id }: JobInfo): Promise<JobInfo> {
  let last: JobInfo | undefined
  await eventually(async () => {
    last = (await page.get('GET api/job', { id })).answer
    return last.state !== 'running'
  }, 60_000)
  if (last?.state !== 'finished') throw new Error(`expected the job to finish, got ${JSON.stringify(last?.error)}`)
  return last
}

describeServers.each([
  ['kafka', 'redis'],
  ['rabbitmq', 'postgres'],
] as const)('a dashboard on %s and %s', (broker, store) => {
  it('finds what was given up, tells why, redrives it, and shows that it was handled', async () => {
    await using incident = await incidentOn(broker, store)
    await incident.send([...sms(4), ...sms(3, 'bad', 'beta')])
    await incident.live(incident.hasEffectsAndDeadLetters(4, 3), { bugFor: 'beta' })
    const { consumer, subscription } = openedOf(incident)
    const live = liveSignals()
    const page = pageOf({ consumer, subscription }, { ...writable(), live })
    const { answer: session } = await page.get('GET api/session', {})
    const id = idIn(session)
    const given = { consumer: id, state: 'given-up' } as const
    const { answer: groups } = await page.get('GET api/groups', given)
    expect(groups).toMatchObject({ total: { count: 3 }, groups: [{ count: 3 }] })
    const { answer: message } = await page.get('GET api/message', { consumer: id, id: 'bad1' })
    expect(message.records).toMatchObject([{ state: 'given-up', decisions: ['done', 'reopen'] }])
    expect(message.records[0]?.cause).toContain('cannot read the field')
    const looked = await ended(page, (await page.post('POST api/dead-letters/look', { consumer: id })).answer)
    expect(looked.result).toMatchObject({ looked: 3, totals: { redriven: 3 } })
    const redrive = { consumer: id, look: looked.id, reason: 'fixed in 2.4.1', confirm: 3 }
    await ended(page, (await page.post('POST api/dead-letters/redrive', redrive)).answer)
    await incident.live(incident.hasEffects(7))
    const { answer: after } = await page.get('GET api/message', { consumer: id, id: 'bad1' })
    expect(after.records).toMatchObject([{ state: 'done', audit: [{ by: 'kim' }] }])
    expect(after.records[0]?.audit[0]?.reason).toContain('fixed in 2.4.1')
    const { answer: doctor } = await page.get('GET api/doctor', { consumer: id })
    expect(doctor.diagnosis.unreachable).toEqual([])
  })
})

describeServers('a dashboard on Kafka and Redis', () => {
  it('plans a replay while read-only, runs it when it may write, finds a message by its place, and hides its payload', async () => {
    await using incident = await Incident.on('kafka', 'redis', { partitions: 1 })
    await incident.send([...sms(3), { id: 'bad', tenant: 'beta' }])
    await incident.live(incident.hasEffectsAndDeadLetters(3, 1), { bugFor: 'beta' })
    const { consumer, subscription } = openedOf(incident)
    const entry = { consumer, subscription }
    const readOnly = pageOf(entry)
    const id = idIn((await readOnly.get('GET api/session', {})).answer)
    const asked = { consumer: id, from: incident.from, rules: { givenUp: 'handle' } } as const
    expect(await ended(readOnly, (await readOnly.post('POST api/plans', asked)).answer)).toMatchObject({
      result: { total: 4, toHandle: 1, buckets: { done: { count: 3 } } },
    })
    const page = pageOf(entry, { ...writable(), showPayload: ['sms'], redact: ['to'] })
    const planned = await ended(page, (await page.post('POST api/plans', asked)).answer)
    const start = { consumer: id, plan: planned.id, reason: 'OPS-5', confirm: 1 }
    const run = await ended(page, (await page.post('POST api/replays/start', start)).answer)
    expect(run.result).toMatchObject({ status: 'finished', totals: { handled: 1, 'done-before': 3 } })
    expect(await incident.effects()).toContain('bad')
    const at = `${incident.place}/0/3`
    const hidden = await readOnly.get('GET api/message', { consumer: id, at })
    expect(hidden.answer).toMatchObject({ records: [{ state: 'done' }], message: { position: '3' } })
    expect(hidden.answer.message?.payload).toBeUndefined()
    const { answer: shown } = await page.get('GET api/message', { consumer: id, at })
    expect(JSON.parse(shown.message?.payload ?? '')).toEqual({ id: 'bad', tenant: 'beta', to: '***' })
    // The audit has once who saw it, however often the page asks.
    await page.get('GET api/message', { consumer: id, at })
    const { answer: looks } = await page.get('GET api/audit', { consumer: id, decision: 'look' })
    expect([looks.entries.length, shown.message?.unnoted]).toEqual([1, undefined])
    expect(looks.entries).toMatchObject([{ by: 'kim', about: `message ${at}` }])
    expect(() => pageOf(entry, { showPayload: ['nobody'] })).toThrow('showPayload: expected names of consumers (sms)')
    expect((await page.get('GET api/message', { consumer: id, at: `${incident.place}/0/99` })).status).toBe(404)
    expect((await page.get('GET api/message', { consumer: id, at: '__consumer_offsets/0/0' })).status).toBe(400)
  })

  it('refuses to read a queue while read-only, because reading is a delivery', async () => {
    await using incident = await Incident.on('rabbitmq', 'redis')
    const { consumer, subscription } = openedOf(incident)
    const page = pageOf({ consumer, subscription })
    const { answer: session } = await page.get('GET api/session', {})
    const id = idIn(session)
    expect(session.consumers[0]?.can).toMatchObject({ records: true, plan: false, deadLetters: false })
    expect((await page.post('POST api/dead-letters/look', { consumer: id })).status).toBe(405)
    expect((await page.post('POST api/plans', { consumer: id, from: incident.from })).status).toBe(405)
  })
})

describeServers('a live consumer in another process', () => {
  it('is shown by its address, with the time line of a message; and its last state when it is gone', async () => {
    await using incident = await Incident.on('kafka', 'redis')
    const live = liveSignals()
    const health = await serveHealth({ health: () => ({}) as never }, { port: 0, host: '127.0.0.1', live })
    const address = `http://127.0.0.1:${health.port}`
    const { consumer, subscription } = openedOf(incident)
    const page = pageOf({ consumer, subscription }, { instances: [address] })
    const id = idIn((await page.get('GET api/session', {})).answer)
    const { answer: message } = await page.get('GET api/message', { consumer: id, id: 'm0' })
    const key = message.records[0]?.key ?? ''
    live({
      type: 'delivery',
      consumer: 'sms',
      key,
      outcome: 'handled',
      message: {
        system: 'kafka',
        destination: 't',
        origin: 't',
        position: '0@1',
        key: null,
        value: null,
        headers: {},
      },
    })
    const { answer: found } = await page.get('GET api/message', { consumer: id, id: 'm0' })
    expect(found.records[0]?.entries).toMatchObject([{ outcome: 'handled', instance: address }])
    expect((await page.get('GET api/live', {})).answer.instances).toMatchObject([{ name: address, state: 'ok' }])
    await health.close()
    await eventually(async () => {
      const [instance] = (await page.get('GET api/live', {})).answer.instances
      return instance?.state === 'unreachable' && instance.snapshot?.consumers.length === 1
    }, 10_000)
  })
})

describeServers('10,000 parked records', () => {
  it.each(['redis', 'postgres'] as const)('are paged, grouped and counted on %s in bounded time', async (store) => {
    await using incident = await incidentOn('kafka', store)
    const { consumer, subscription } = openedOf(incident)
    const scope = await park({ consumer, subscription })
    const page = pageOf({ consumer, subscription }, writable())
    const id = idIn((await page.get('GET api/session', {})).answer)
    expect(scope).toBe(id)
    const asked = { consumer: id, state: 'parked' } as const
    await page.get('GET api/records', { ...asked, limit: 50 })
    const first = await timed(() => page.get('GET api/records', { ...asked, limit: 50 }))
    const groups = await timed(() => page.get('GET api/groups', asked))
    const counts = await timed(() => page.get('GET api/counts', {}))
    const none = await timed(() => page.get('GET api/records', { ...asked, text: 'nothing like it' }))
    expect(first.answer.records).toHaveLength(50)
    // All of them, or what it came to within the time for one answer, and says so.
    expect(groups.answer.total.count).toBeGreaterThanOrEqual(groups.answer.total.isAtLeast ? 1_000 : 10_000)
    expect(counts.answer.consumers[0]?.counts?.parked).toEqual({ count: 1_000, isAtLeast: true })
    expect(none.answer.records).toEqual([])
    expect(none.answer.looked).toBeGreaterThan(0)
    expect(none.answer.looked).toBeLessThanOrEqual(12_000)
    expect(none.ms + groups.ms + counts.ms).toBeLessThan(20_000)
    const preview = { consumer: id, decision: 'done', matching: { state: 'parked' } } as const
    const { answer } = await page.post('POST api/decisions/preview', preview)
    expect(answer).toMatchObject({ changing: 1_000, hasMore: true })
    const asks = [
      (time: number) => page.get('GET api/records', { ...asked, limit: 50 + time }),
      (time: number) => page.get('GET api/records', { ...asked, limit: 500 - time }),
      (time: number) => page.get('GET api/records', { ...asked, text: `nothing like ${time}` }),
      () => page.post('POST api/decisions/preview', preview),
      // A dashboard of its own: another one would remember the answer.
      () => pageOf({ consumer, subscription }).get('GET api/groups', asked),
      () => pageOf({ consumer, subscription }).get('GET api/counts', {}),
      () => pageOf({ consumer, subscription }).get('GET api/message', { consumer: id, key: keyOf(9_876).slice(0, 8) }),
      async () => {
        const { answer: shown } = await page.post('POST api/decisions/preview', preview)
        const { token, changing } = shown
        const confirmed = { consumer: id, token, reason: 'the provider has them', confirm: changing }
        const decided = await page.post('POST api/decisions', confirmed)
        expect(decided.answer).toMatchObject({ decided: 1_000, refused: 0 })
      },
    ]
    for (const ask of asks) expect(await longestTurnMs(ask)).toBeLessThan(20)
    expect(first.ms).toBeLessThan(2_000)
  })
})

describeServers('a store that goes away', () => {
  it('is told, and the dashboard heals when it is back', async () => {
    const redis = await startPrivateRedis()
    const client = new Redis(redis.url, { commandTimeout: 500, maxRetriesPerRequest: 0, retryStrategy: () => 50 })
    client.on('error', () => {})
    const consumer = defineConsumer({
      name: 'sms',
      store: redisLease({ redis: client, prefix: uniqueName('board') }),
      handle: () => {},
    })
    const page = pageOf({ consumer, subscription: { group: 'g', origins: ['t'] } }, { timeoutMs: 1_000 })
    const asked = { consumer: 'g/sms', id: 'a' }
    expect((await page.get('GET api/message', asked)).status).toBe(200)
    closing.push(
      () => client.disconnect(),
      () => redis.stop(),
    )
    await redis.kill()
    const down = await page.get('GET api/message', asked)
    expect(down.status).toBe(503)
    expect(down.error.code).toMatch(/^STORE_/)
    expect((await page.get('GET api/session', {})).status).toBe(200)
    await redis.restart()
    await eventually(async () => (await page.get('GET api/message', asked)).status === 200, 20_000)
  })
})

function idIn({ consumers }: SessionInfo): string {
  return consumers[0]?.id ?? ''
}

async function timed<T extends object>(ask: () => Promise<T>): Promise<T & { readonly ms: number }> {
  const begun = performance.now()
  const told = await ask()
  return { ...told, ms: Math.round(performance.now() - begun) }
}

const TIMES = 3

/**
 * The CPU of the longest turn while a question was answered: a consumer in this process waits so long. The median of several
 * times: a collection of garbage may hit any turn.
 */
async function longestTurnMs(ask: (time: number) => Promise<unknown>): Promise<number> {
  const longest: number[] = []
  for (let time = 0; time < TIMES; time++) longest.push((await turnsDuring(() => ask(time)))[0] ?? 0)
  return longest.toSorted((a, b) => a - b)[1] ?? Infinity
}

/** 10,000 messages whose effects may have happened, written by the store itself. Returns the scope. */
async function park({ consumer, subscription }: ConfiguredConsumer): Promise<string> {
  const definition = definitionOf(consumer)
  const { store } = definition
  if (store.strategy === 'offsets') throw new Error('a store without records')
  await store.open()
  const scope = scopeName(definition, subscription.group)
  for (let at = 0; at < 10_000; at += 500) {
    const items = Array.from({ length: 500 }, (_, one) => ({ key: keyOf(at + one), digest: 'd'.repeat(22) }))
    const token = uniqueName('token').slice(0, 22)
    const answers = await store.claim({ scope, token, leaseMs: 60_000, retentionMs: 3_600_000, alone: false, items })
    const claims = answers.flatMap((answer) => ('claim' in answer ? [answer.claim] : []))
    await store.setAside(claims, 'parked', {
      reason: at % 1_000 === 0 ? 'handler-timeout' : 'outcome-unknown',
    })
  }
  return scope
}

function keyOf(at: number): string {
  return Buffer.from(`${at}-parked-record-padding`).toString('base64url').slice(0, 22)
}

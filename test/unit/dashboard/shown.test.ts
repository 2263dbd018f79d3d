import { describe, expect, it } from '@jest/globals'
import { dashboard } from '../../../dashboard/server/index.ts'
import { defineConsumer, StoreError, type Store } from '../../../src/index.ts'
import { memoryStore } from '../../../src/memory/index.ts'
import type { ListQuery, RecordPage, StoreAdmin } from '../../../src/internal.ts'
import { Page, pagesFolder } from '../../kit/dashboard.ts'
import { ManualClock } from '../../kit/manual-clock.ts'
import { CONSUMER as consumer, MemoryBoard, numbered, writable } from './memory-board.ts'

const unreachable = (): Promise<never> => Promise.reject(new StoreError('STORE_UNREACHABLE', 'connection refused'))

describe('what is shown', () => {
  it('is counts, groups, pages and filters of records', async () => {
    await using made = new MemoryBoard()
    await made.sendFailing('parked', numbered(30))
    await made.sendFailing('given-up', ['g'])
    const { answer: counts } = await made.get('GET api/counts', {})
    expect(counts.consumers).toMatchObject([{ consumer, counts: { parked: { count: 30 }, 'given-up': { count: 1 } } }])
    const { answer: groups } = await made.get('GET api/groups', { consumer, state: 'parked' })
    expect(groups).toMatchObject({ total: { count: 30, isAtLeast: false }, groups: [{ count: 30 }] })
    const keys: string[] = []
    for (let after: string | undefined, isOver = false; !isOver;) {
      const query = { consumer, state: 'parked', limit: 7, ...(after === undefined ? {} : { after }) } as const
      const { answer } = await made.get('GET api/records', query)
      keys.push(...answer.records.map(({ key }) => key))
      after = answer.next
      isOver = after === undefined
    }
    expect(new Set(keys).size).toBe(30)
    const none = await made.get('GET api/records', { consumer, state: 'parked', text: 'nothing like it' })
    expect(none.answer.records).toEqual([])
    expect(none.answer.next).toBeUndefined()
    const some = await made.get('GET api/records', { consumer, state: 'parked', text: 'provider' })
    expect(some.answer.records).toHaveLength(30)
    expect(some.answer.records[0]).not.toHaveProperty('digest')
  })

  it('is a message by its ID, its key, the beginning of its key; how often it may run, and its time line', async () => {
    await using made = new MemoryBoard()
    await made.sendFailing('parked', ['p'])
    await made.send(['p'])
    const { answer } = await made.get('GET api/message', { consumer, id: 'p' })
    const [record] = answer.records
    expect(record?.maxAttempts).toBe(5)
    expect(record?.advice.commands[0]?.text).toBe('npx consume-once resolve sms --done --reason WHY p')
    expect(record?.entries.map(({ type }) => type)).toEqual(['in-doubt', 'delivery', 'delivery'])
    expect(record?.entries).toMatchObject([{}, { outcome: 'parked', instance: 'this process' }, { outcome: 'parked' }])
    const { key = '' } = record ?? {}
    const provider = record?.idempotencyKey ?? ''
    expect(provider).toMatch(/^[\w-]{43}$/)
    for (const given of [key, key.slice(0, 6), provider, `${provider}-3`, 'p']) {
      const { answer: found } = await made.get('GET api/message', { consumer, key: given })
      const isByKey = given === key || given === key.slice(0, 6)
      expect(found.records).toMatchObject([{ key, state: 'parked', ...(isByKey ? {} : { idempotencyKey: provider }) }])
    }
    for (const wrong of ['nope', 'no', 'order 4711', 'x'.repeat(30)]) {
      const { status, error } = await made.get('GET api/message', { consumer, key: wrong })
      expect([status, error.message]).toEqual([
        404,
        expect.stringContaining('an idempotency key of 43, or a message ID'),
      ])
    }
    expect((await made.get('GET api/message', { consumer })).status).toBe(400)
  })

  it('is the row of an ID in a list, or the state in which it is', async () => {
    await using made = new MemoryBoard()
    await made.sendFailing('parked', ['p'])
    await made.sendFailing('given-up', ['g'])
    await made.send(['ok'])
    const parked = { consumer, state: 'parked' } as const
    const { answer: found } = await made.get('GET api/records', { ...parked, id: 'p' })
    expect(found).toMatchObject({ records: [{ state: 'parked' }] })
    expect(found.elsewhere).toBeUndefined()
    const elsewhere = async (id: string): Promise<unknown> =>
      (await made.get('GET api/records', { ...parked, id })).answer
    expect(await elsewhere('g')).toMatchObject({ records: [], elsewhere: 'given-up' })
    expect(await elsewhere('ok')).toMatchObject({ records: [], elsewhere: 'done' })
    expect(await elsewhere('nobody')).toMatchObject({ records: [], elsewhere: 'absent' })
  })

  it('is which consumers know an ID or a key, and which store does not answer', async () => {
    await using made = new MemoryBoard()
    await made.send(['a'])
    const store = memoryStore()
    const admin = Object.assign(Object.create(store.admin ?? null) as StoreAdmin, { peek: unreachable })
    const down = defineConsumer({
      name: 'mail',
      store: Object.assign(Object.create(store) as Store, { admin }),
      handle: () => {},
    })
    const subscription = { group: 'g', origins: ['mail'] }
    const board = dashboard({ consumers: [made.entry, { consumer: down, subscription }], pages: pagesFolder() })
    const page = new Page(board)
    const { answer } = await page.get('GET api/find', { id: 'a' })
    expect(answer.found).toMatchObject([{ consumer, state: 'done' }])
    expect(answer.failed).toMatchObject([{ consumer: 'g/mail', error: { status: 503 } }])
    const byKey = await page.get('GET api/find', { id: answer.found[0]?.key ?? '' })
    expect(answer.found).toMatchObject([{ by: 'id' }])
    expect(byKey.answer.found).toEqual([{ ...answer.found[0], by: 'key' }])
    const [record] = (await page.get('GET api/message', { consumer, id: 'a' })).answer.records
    const byProvider = await page.get('GET api/find', { id: `${record?.idempotencyKey}-0` })
    expect(byProvider.answer.found).toEqual(byKey.answer.found)
    expect((await page.get('GET api/find', { id: 'nobody' })).answer.found).toEqual([])
  })

  it('is no decision that would do harm: a record that a conflict met is not forgotten here', async () => {
    await using made = new MemoryBoard(writable())
    await made.send(['a'])
    const decisions = async (): Promise<unknown> =>
      (await made.get('GET api/message', { consumer, id: 'a' })).answer.records[0]?.decisions
    expect(await decisions()).toEqual(['forget'])
    made.broker.publish('sms', { value: Buffer.from('{"to":"another one"}'), headers: { id: 'a' } })
    await made.broker.drained('sms', 'workers')
    expect(await decisions()).toEqual([])
  })

  it('is live, the guarantee, the settings with their origin, and the session', async () => {
    await using made = new MemoryBoard({ environment: { name: 'staging', color: '#0f766e' } })
    await made.send(['a', 'a'])
    const { answer: live } = await made.get('GET api/live', {})
    expect(live.instances).toMatchObject([
      { name: 'this process', state: 'ok', snapshot: { consumers: [{ outcomes: { handled: 1 } }] } },
    ])
    const { answer: doctor } = await made.get('GET api/doctor', { consumer })
    const { answer: guarantees } = await made.get('GET api/guarantees', {})
    expect(guarantees.consumers).toMatchObject([{ consumer, verdict: doctor.diagnosis.verdict }])
    expect(doctor.diagnosis.guarantee).toContain('no message is lost')
    const { answer: settings } = await made.get('GET api/settings', { consumer })
    expect(settings.settings.find(({ name }) => name === 'onInDoubt')).toMatchObject({ value: 'park', origin: 'given' })
    expect(settings.settings.find(({ name }) => name === 'leaseMs')).toMatchObject({ value: '30 s', origin: 'default' })
    const { answer: session } = await made.get('GET api/session', {})
    expect(session).toMatchObject({ readOnly: true, environment: { name: 'staging' }, consumers: [{ id: consumer }] })
    expect(session.version).toMatch(/^\d+\.\d+\.\d+/)
  })
})

describe('a rare state', () => {
  it('is looked for in bounded time: a page says how many records it has looked at, and the next goes on', async () => {
    const { page, asked } = slowBoard()
    const list = { consumer, state: 'parked' } as const
    const { answer: first } = await page.get('GET api/records', list)
    expect(first).toMatchObject({ records: [], looked: 40_000, next: '2' })
    const { answer: second } = await page.get('GET api/records', { ...list, after: first.next ?? '' })
    expect(second).toMatchObject({ records: [], looked: 40_000, next: '4' })
    const { answer: third } = await page.get('GET api/records', { ...list, after: second.next ?? '' })
    expect(third).toMatchObject({ records: [{ reason: 'rare' }], looked: 20_000 })
    expect(third.next).toBeUndefined()
    expect(new Set(asked)).toEqual(new Set([20_000]))
  })

  it('is counted, grouped and decided as far as was looked, which the answer says', async () => {
    const { page } = slowBoard()
    const { answer: counts } = await page.get('GET api/counts', {})
    expect(counts.consumers[0]?.counts?.parked).toEqual({ count: 0, isAtLeast: true })
    const { answer: groups } = await page.get('GET api/groups', { consumer, state: 'parked' })
    expect(groups).toMatchObject({ total: { count: 0, isAtLeast: true }, groups: [] })
    const preview = { consumer, decision: 'done', matching: { state: 'parked' } } as const
    expect((await page.post('POST api/decisions/preview', preview)).answer).toMatchObject({
      hasMore: false,
      refused: 1,
    })
    const none = await page.get('GET api/message', { consumer, key: 'zzzz' })
    expect([none.status, none.error.message]).toEqual([404, expect.stringContaining('among the first of many records')])
  })
})

describe('a store that is down', () => {
  it('is an answer with 503, from which the page heals', async () => {
    const memory = memoryStore()
    let isDown = true
    const fails = <T>(ask: () => T): T => {
      if (isDown) throw new StoreError('STORE_UNREACHABLE', 'connect ECONNREFUSED redis://:s3cret@10.0.0.1:6379')
      return ask()
    }
    const { admin } = memory
    if (admin === undefined) throw new Error('the memory store has an admin')
    const failing = {
      ...admin,
      peek: async (...args: Parameters<typeof admin.peek>) => fails(() => admin.peek(...args)),
      list: async (...args: Parameters<typeof admin.list>) => fails(() => admin.list(...args)),
    }
    const store: Store = Object.assign(Object.create(memory) as typeof memory, { admin: failing })
    const definition = defineConsumer({ name: 'sms', store, handle: () => {} })
    const entry = { consumer: definition, subscription: { group: 'workers', origins: ['sms'] } }
    const page = new Page(dashboard({ consumers: [entry], pages: pagesFolder() }))
    const { answer } = await page.get('GET api/counts', {})
    expect(answer.consumers).toMatchObject([{ error: { status: 503, code: 'STORE_UNREACHABLE' } }])
    const down = await page.get('GET api/message', { consumer, id: 'a' })
    expect([down.status, down.error.code]).toEqual([503, 'STORE_UNREACHABLE'])
    expect(down.error.message).not.toContain('s3cret')
    isDown = false
    expect((await page.get('GET api/message', { consumer, id: 'a' })).answer.records).toMatchObject([
      { state: 'absent' },
    ])
    expect((await page.get('GET api/counts', {})).answer.consumers[0]?.counts?.parked).toEqual({
      count: 0,
      isAtLeast: false,
    })
  })
})

/** Each page takes 1.5 s, and looks at 20,000 records: what is parked is on the fifth. */
function slowBoard(): { readonly page: Page; readonly asked: readonly (number | undefined)[] } {
  const clock = new ManualClock()
  const memory = memoryStore()
  const { admin } = memory
  if (admin === undefined) throw new Error('the memory store has an admin')
  const asked: (number | undefined)[] = []
  const list = async (_scope: string, { state, lookAtMost, after = '0' }: ListQuery): Promise<RecordPage> => {
    asked.push(lookAtMost)
    await clock.advance(1_500)
    const at = Number(after)
    const records = at === 4 && state === 'parked' ? [{ key: 'k'.repeat(22), state, reason: 'rare' }] : []
    return { records, looked: 20_000, next: at < 4 ? String(at + 1) : undefined }
  }
  const store: Store = Object.assign(Object.create(memory) as typeof memory, { admin: { ...admin, list } })
  const entry = {
    consumer: defineConsumer({ name: 'sms', store, handle: () => {} }),
    subscription: { group: 'workers', origins: ['sms'] },
  }
  const board = dashboard({ consumers: [entry], pages: pagesFolder(), clock, ...writable() })
  return { page: new Page(board), asked }
}

import { describe, expect, it } from '@jest/globals'
import {
  adminOf,
  defineConsumer,
  messageId,
  OutcomeUnknownError,
  TerminalError,
  type Admin,
  type Consumer,
  type ConsumerSettings,
  type Store,
} from '../../../src/index.ts'
import { MemoryBroker, memoryStore, runMemory } from '../../../src/memory/index.ts'
import { ManualClock } from '../../kit/manual-clock.ts'
import { storeWith } from '../../kit/store-with.ts'
import { MemoryOffsets } from '../../../testing/stores/memory-offsets.ts'

const WHY = { by: 'kim', reason: 'OPS-1' }
const DAY_MS = 86_400_000

type Settings = Partial<ConsumerSettings<unknown, unknown, never>>

/** A consumer of one topic, on a broker and a store in this process, whose handler does what the test says now. */
class Stage {
  readonly broker: MemoryBroker = new MemoryBroker()
  readonly handled: string[] = []
  readonly idempotencyKeys: string[] = []
  readonly consumer: Consumer
  fails: (() => Error) | undefined

  constructor(settings: Settings = {}) {
    this.consumer = defineConsumer({
      name: 'sms-sender',
      store: memoryStore(),
      id: messageId.header('id'),
      onInDoubt: 'park',
      ...settings,
      handle: ({ message, idempotencyKey }) => {
        this.idempotencyKeys.push(idempotencyKey)
        const error = this.fails?.()
        if (error !== undefined) throw error
        this.handled.push(String(message.headers['id']))
      },
    })
  }

  get admin(): Admin {
    return adminOf(this.consumer, { group: 'workers', origins: ['sms'] })
  }

  /** Publishes, and resolves when each message has come to its end. */
  async send(ids: readonly string[], topic = 'sms'): Promise<void> {
    const running = await runMemory(this.broker, this.consumer, { topic, group: 'workers' })
    for (const id of ids) this.broker.publish(topic, { value: Buffer.from('{}'), headers: { id } })
    await this.broker.drained(topic, 'workers')
    await running.stop()
  }

  async sendFailing(ids: readonly string[], error: Error): Promise<void> {
    this.fails = () => error
    await this.send(ids)
    this.fails = undefined
  }
}

const of = (store: Store): Consumer => defineConsumer({ name: 'c', store, handle: () => {} })

describe('adminOf', () => {
  it('finds the record of a message by its ID, as text or bytes, or by its key', async () => {
    const stage = new Stage()
    await stage.send(['a'])
    const [byText, byBytes, absent] = await stage.admin.inspect(['a', Buffer.from('a'), 'b'])
    expect(byText).toMatchObject({ ref: 'a', state: 'done', origin: 'sms', fence: 1 })
    expect(byBytes?.key).toBe(byText?.key)
    expect([byText?.idempotencyKey, byBytes?.idempotencyKey]).toEqual([
      ...stage.idempotencyKeys,
      ...stage.idempotencyKeys,
    ])
    expect(absent).toMatchObject({ ref: 'b', state: 'absent', origin: 'sms' })
    expect(await stage.admin.inspect([{ key: byText?.key ?? '' }])).toMatchObject([
      { state: 'done', origin: undefined },
    ])
    expect(stage.admin.scope).toBe('workers/sms-sender')
  })

  it('reopens what was given up, so that it runs at its next delivery', async () => {
    const stage = new Stage()
    await stage.sendFailing(['a'], new TerminalError('no such number'))
    expect(await stage.admin.inspect(['a'])).toMatchObject([{ state: 'given-up' }])
    await stage.send(['a'])
    expect(stage.handled).toEqual([])
    expect(await stage.admin.reopen(['a', 'a'], WHY)).toMatchObject([
      { ref: 'a', verdict: 'decided' },
      { ref: 'a', verdict: 'decided' },
    ])
    expect(await stage.admin.reopen(['a'], WHY)).toMatchObject([{ verdict: 'already' }])
    await stage.send(['a'])
    expect(stage.handled).toEqual(['a'])
  })

  it('resolves what is parked, by the key that the list tells: done, or to run again', async () => {
    const stage = new Stage()
    await stage.sendFailing(['happened', 'not'], new OutcomeUnknownError('no answer'))
    const { records } = await stage.admin.list({ state: 'parked', limit: 10 })
    expect(records).toHaveLength(2)
    const [happened] = await stage.admin.inspect(['happened'])
    expect(records.map(({ key }) => key)).toContain(happened?.key)
    expect(await stage.admin.resolve([{ key: happened?.key ?? '' }], { ...WHY, as: 'done' })).toMatchObject([
      { verdict: 'decided' },
    ])
    await stage.admin.resolve(['not'], { ...WHY, as: 'rerun' })
    await stage.send(['happened', 'not'])
    expect(stage.handled).toEqual(['not'])
  })

  it('forgets what is done, which then happens again, and nothing else', async () => {
    const stage = new Stage()
    await stage.send(['a'])
    await stage.sendFailing(['b'], new TerminalError('no'))
    expect(await stage.admin.forget(['a', 'b', 'c'], WHY)).toMatchObject([
      { verdict: 'decided' },
      { verdict: 'refused' },
      { verdict: 'already' },
    ])
    await stage.send(['a', 'a'])
    expect(stage.handled).toEqual(['a', 'a'])
  })

  it('looks under every origin, and decides nothing about an ID that is in use under two', async () => {
    const stage = new Stage()
    await stage.send(['both', 'one'])
    await stage.send(['both'], 'mails')
    const admin = adminOf(stage.consumer, { group: 'workers', origins: ['mails', 'sms'] })
    expect(await admin.inspect(['both'])).toMatchObject([{ origin: 'mails' }, { origin: 'sms' }])
    expect(await admin.inspect(['one'])).toMatchObject([{ origin: 'sms', state: 'done' }])
    await expect(admin.forget(['one', 'both'], WHY)).rejects.toThrow('message 2: expected its ID under one origin')
    expect(await admin.inspect(['one'])).toMatchObject([{ state: 'done' }])
    expect(await admin.forget(['one'], WHY)).toMatchObject([{ verdict: 'decided' }])
    expect(await stage.admin.forget(['both'], WHY)).toMatchObject([{ verdict: 'decided' }])
  })

  it('makes keys of the scope alone where the consumer has one of its own', async () => {
    const stage = new Stage({ scope: 'notifications' })
    await stage.send(['a'])
    const admin = adminOf(stage.consumer, { group: 'whatever', origins: ['x', 'y'] })
    expect(await admin.inspect(['a'])).toMatchObject([{ state: 'done', origin: undefined }])
    expect(admin.scope).toBe('notifications')
  })

  it('purges what is over, batch by batch, and counts what is not', async () => {
    const clock = new ManualClock()
    const stage = new Stage({ store: memoryStore({ clock }), retentionMs: DAY_MS, purge: 'never' })
    await stage.send(['a', 'b', 'c'])
    await clock.advance(DAY_MS)
    await stage.sendFailing(['d', 'e'], new OutcomeUnknownError('?'))
    expect(await stage.admin.purge(2)).toEqual({ removed: 2, more: true })
    expect(await stage.admin.purge()).toEqual({ removed: 1, more: false })
    const none = { count: 0, isAtLeast: false }
    expect(await stage.admin.stats()).toEqual({
      processing: none,
      'in-doubt': none,
      'given-up': none,
      parked: { count: 2, isAtLeast: false },
    })
    expect((await stage.admin.stats(1)).parked).toEqual({ count: 1, isAtLeast: true })
  })

  it('counts a record once that the store has on two pages', async () => {
    const store = storeWith(({ admin }) => ({
      ...(admin && {
        admin: {
          ...admin,
          list: async (scope, query) => {
            const { records } = await admin.list(scope, { ...query, after: undefined })
            const [from, to, next] = query.after === undefined ? [0, 2, 'page 2'] : [1, 3, undefined]
            return { records: records.slice(from, to), looked: 2, next }
          },
        },
      }),
    }))
    const stage = new Stage({ store })
    await stage.sendFailing(['a', 'b', 'c'], new OutcomeUnknownError('?'))
    expect((await stage.admin.stats()).parked).toEqual({ count: 3, isAtLeast: false })
  })

  it('asks the store in calls of a bounded size', async () => {
    const sizes: number[] = []
    const store = storeWith(({ admin }) => ({
      ...(admin && {
        admin: { ...admin, peek: (scope, keys) => (sizes.push(keys.length), admin.peek(scope, keys)) },
      }),
    }))
    const ids = Array.from({ length: 1_201 }, (_, at) => `id-${at}`)
    expect(await new Stage({ store }).admin.inspect(ids)).toHaveLength(1_201)
    expect(sizes).toEqual([500, 500, 201])
  })

  it('refuses what is no ID, no reason, no name and no decision', async () => {
    const { admin } = new Stage()
    await expect(admin.inspect([' '])).rejects.toThrow('the message ID is blank')
    await expect(admin.inspect(['x'.repeat(513)])).rejects.toThrow('longer than 512 bytes')
    await expect(admin.forget(['a'], { by: 'kim', reason: ' ' })).rejects.toThrow('reason: expected')
    await expect(admin.forget(['a'], { by: '', reason: 'x' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    await expect(admin.resolve(['a'], { ...WHY, as: 'undone' as never })).rejects.toThrow('"done" or "rerun"')
    await expect(admin.purge(0)).rejects.toThrow('batchSize')
  })

  it('imports what happened before, so that it does not run, and shows who decided', async () => {
    const stage = new Stage()
    await stage.send(['b'])
    const imported = await stage.admin.import(['a', 'b', 'a'], WHY)
    expect(imported.map(({ verdict }) => verdict)).toEqual(['decided', 'already', 'decided'])
    await stage.send(['a'])
    expect(stage.handled).toEqual(['b'])
    const { entries } = await stage.admin.audit({ limit: 10 })
    expect(entries).toMatchObject([{ ...WHY, decision: 'import', before: 'absent', key: imported[0]?.key }])
    const ofTwo = adminOf(stage.consumer, { group: 'workers', origins: ['sms', 'mail'] })
    await expect(ofTwo.import(['a'], WHY)).rejects.toThrow('expected one origin that its ID is of, got sms, mail')
  })

  it('says so where the store lets nobody look, and where messages have no records', () => {
    const at = { group: 'g', origins: ['t'] }
    expect(() => adminOf(of(storeWith(() => ({}))), at)).toThrow('expected one that people may look into')
    expect(() => adminOf(of(new MemoryOffsets()), at)).toThrow('a position for each partition')
    expect(() => adminOf(of(memoryStore()), { group: '', origins: [] })).toThrow(/group: .*[\s\S]*origins: /)
  })
})

import { describe, expect, it } from '@jest/globals'
import {
  ConfigError,
  defineConsumer,
  OutcomeUnknownError,
  runInline,
  TerminalError,
  type Consumer,
  type InlineOptions,
  type Message,
  type ObserverEvent,
  type Store,
} from '../../../../src/index.ts'
import { memoryStore } from '../../../../src/memory/index.ts'
import type { DeadLetter, RetryCopy } from '../../../../src/internal.ts'
import { turns } from '../../../kit/manual-clock.ts'
import { gate } from '../../../kit/rig.ts'
import { MemoryOffsets } from '../../../../testing/stores/memory-offsets.ts'
import { Bench, failingTimes, HANDLED, messageOf, type Options } from './inline-bench.ts'

describe('a consumer whose caller settles', () => {
  it('answers ack when the mark is durable, and for each copy after it', async () => {
    const marked = gate()
    const bench = new Bench(() => {})
    bench.store.script('mark', marked.opened)
    const begun = bench.begin()
    await turns()
    expect([bench.runs, begun.answer]).toEqual([['a'], undefined])
    marked.open()
    expect(await begun.handling).toEqual(HANDLED)
    expect(await bench.handle(messageOf('a'))).toEqual({ outcome: 'duplicate', settle: 'ack' })
    expect(bench.runs).toEqual(['a'])
  })

  it('joins copies that come while the first is under way, also the very same object', async () => {
    const effect = gate()
    const bench = new Bench(() => effect.opened)
    const message = messageOf('a')
    const all = Promise.all([bench.handle(message), bench.handle(messageOf('a')), bench.handle(message)])
    await turns()
    effect.open()
    expect((await all).map(({ outcome, settle }) => `${outcome} ${settle}`)).toEqual([
      'handled ack',
      'joined ack',
      'joined ack',
    ])
    expect(bench.runs).toEqual(['a'])
  })

  it('joins the very same object also where its fields are read by getters, as those of RabbitMQ are', async () => {
    const effect = gate()
    const bench = new Bench(() => effect.opened)
    const plain = messageOf('a')
    const getters = Object.fromEntries(
      Object.keys(plain).map((name) => [name, { get: () => Reflect.get(plain, name) }]),
    )
    const message = Object.create(Object.create(null, getters)) as Message
    const all = Promise.all([bench.handle(message), bench.handle(message)])
    await turns()
    effect.open()
    expect((await all).map(({ outcome }) => outcome)).toEqual(['handled', 'joined'])
    expect(bench.runs).toEqual(['a'])
  })

  it('takes many at once, in the order of their lanes, in one claim', async () => {
    const slow = gate()
    const bench = new Bench((id) => (id === 'a1' ? slow.opened : undefined))
    const all = [
      bench.handle(messageOf('a1'), 'a'),
      bench.handle(messageOf('a2'), 'a'),
      bench.handle(messageOf('b1'), 'b'),
    ]
    await all[2]
    expect(bench.runs).toEqual(['a1', 'b1'])
    slow.open()
    await Promise.all(all)
    expect(bench.runs).toEqual(['a1', 'b1', 'a2'])
    expect(bench.store.calls('claim').map(({ keys }) => keys.length)).toEqual([2, 1])
  })

  it('tries again in its lane, while the others flow', async () => {
    const bench = new Bench(failingTimes(2))
    const failing = bench.handle(messageOf('a'), 'a')
    await bench.handle(messageOf('b'), 'b')
    await bench.clock.advance(2_000)
    expect(await failing).toEqual(HANDLED)
    expect(bench.runs).toEqual(['a', 'b', 'a', 'a'])
  })

  it('says that its store is not open until it is', async () => {
    const bench = new Bench(() => {})
    expect(bench.inline.health().checks['store']).toBe('not open')
    expect(await bench.inline.open()).toBe('ready')
    expect(bench.inline.health().checks['store']).toBe('ok')
  })

  it('waits while the store is down', async () => {
    const bench = new Bench(() => {})
    await bench.inline.open()
    bench.store.isDown = true
    const begun = bench.begin()
    await bench.clock.advance(600_000)
    expect([begun.answer, bench.inline.health().ready]).toEqual([undefined, false])
    bench.store.isDown = false
    await bench.clock.advance(10_000)
    expect(await begun.handling).toEqual(HANDLED)
    expect(bench.inline.health()).toMatchObject({ live: true, ready: true, state: 'running' })
  })

  it('tells the observer of the user everything, and outlives one that throws', async () => {
    const seen: string[] = []
    const observe = (event: ObserverEvent): void => {
      seen.push(event.type === 'delivery' ? event.outcome : event.type)
      throw new Error('a mistake of the user')
    }
    const bench = new Bench(() => {}, { options: { observe } })
    expect(await bench.handle(messageOf('a'))).toEqual(HANDLED)
    expect(seen).toEqual(['started', 'store-call', 'claims', 'handler-run', 'store-call', 'handled', 'marks'])
  })

  it.each<[string, () => unknown, string]>([
    ['no consumer', () => runInline({ name: 'x' } as Consumer, { group: 'g' }), 'defineConsumer'],
    [
      'a group with a NUL',
      () => runInline(consumerOn(memoryStore()), { group: 'g\u0000' }),
      'group: expected text without control characters',
    ],
    [
      'a group with a direction mark',
      () => runInline(consumerOn(memoryStore()), { group: 'g\u202E' }),
      'group: expected text without control characters',
    ],
    ['nothing', () => runInline(undefined as unknown as Consumer, { group: 'g' }), 'defineConsumer'],
    [
      'a store whose positions must be sought',
      () => runInline(consumerOn(new MemoryOffsets()), { group: 'g' }),
      'runKafka',
    ],
    ['no group', () => runInline(consumerOn(memoryStore()), { group: '' }), 'group'],
  ])('refuses %s', (_what, run, told) => {
    expect(run).toThrow(ConfigError)
    expect(run).toThrow(told)
  })
})

function consumerOn(store: Store): Consumer {
  return defineConsumer({ name: 'consumer', store, handle: () => {} })
}

const fails = (): never => {
  throw new TerminalError('card declined')
}

describe('a message that must be dead-lettered', () => {
  it('without a publisher is the errand of the caller, once the record is set aside', async () => {
    const bench = new Bench(fails)
    const set = gate()
    bench.store.script('setAside', set.opened)
    const begun = bench.begin()
    await turns()
    expect(begun.answer).toBeUndefined()
    set.open()
    expect(await begun.handling).toMatchObject({
      outcome: 'dead-lettered',
      settle: 'dead-letter',
      reason: 'handler-failed',
      deadLetter: { attempts: 1, detail: 'card declined', errorClass: 'TerminalError', parked: false, group: 'group' },
    })
  })

  it('is so with each further delivery, and the handler is not run again', async () => {
    const bench = new Bench(fails)
    await bench.handle(messageOf('a'))
    const again = await new Bench(() => {}, { world: bench }).handle(messageOf('a'))
    expect(again).toMatchObject({ outcome: 'dead-lettered', settle: 'dead-letter', reason: 'handler-failed' })
  })

  it('is so for the copies that had joined it too: the first may be one that nobody can settle any more', async () => {
    const effect = gate()
    const bench = new Bench(() => effect.opened.then(fails))
    const all = Promise.all([bench.handle(messageOf('a', {}, '1')), bench.handle(messageOf('a', {}, '2'))])
    await turns()
    effect.open()
    const told = (await all).map(({ outcome, settle, deadLetter }) => [outcome, settle, deadLetter?.message.position])
    expect(told).toEqual([
      ['dead-lettered', 'dead-letter', '1'],
      ['joined', 'dead-letter', '2'],
    ])
  })

  it('attempts spent, no ID, conflict, in doubt: says why', async () => {
    const bench = new Bench(
      (id) => {
        if (id === 'spent') throw new Error('no')
        if (id === 'unknown') throw new OutcomeUnknownError('who knows')
      },
      { options: { maxAttempts: 2, onInDoubt: 'park' } },
    )
    const spent = bench.handle(messageOf('spent'))
    await bench.clock.advance(2_000)
    await bench.handle(messageOf('b', { cents: 1 }))
    const all = [
      spent,
      bench.handle(messageOf(undefined)),
      bench.handle(messageOf('b', { cents: 2 })),
      bench.handle(messageOf('unknown')),
    ]
    expect((await Promise.all(all)).map(({ outcome, settle, reason }) => `${outcome} ${settle} ${reason}`)).toEqual([
      'dead-lettered dead-letter attempts-spent',
      'dead-lettered dead-letter no-id',
      'dead-lettered dead-letter conflict',
      'parked dead-letter in-doubt',
    ])
  })

  it('with a publisher is published, confirmed, and then acked', async () => {
    const deadLetters: DeadLetter[] = []
    let refusals = 3
    const publisher = {
      deadLetter: async (deadLetter: DeadLetter): Promise<void> => {
        if (refusals-- > 0) throw new Error('not confirmed')
        deadLetters.push(deadLetter)
      },
    }
    const bench = new Bench(fails, { how: { publisher } })
    const begun = bench.begin()
    await turns()
    expect(begun.answer).toBeUndefined()
    await bench.clock.advance(60_000)
    expect(await begun.handling).toEqual({ outcome: 'dead-lettered', settle: 'ack', reason: 'handler-failed' })
    expect(deadLetters).toHaveLength(1)
  })
})

describe('a caller who waits between attempts', () => {
  it('is told how long, each attempt counts, and the last one ends in a dead letter', async () => {
    const bench = new Bench(failingTimes(9), { options: { maxAttempts: 3 }, how: { retryWaits: 'caller' } })
    const first = await bench.handle(messageOf('a'))
    await bench.clock.advance(first.retryAfterMs ?? 0)
    const second = await bench.handle(messageOf('a'))
    await bench.clock.advance(second.retryAfterMs ?? 0)
    const third = await bench.handle(messageOf('a'))
    expect(first).toEqual({ outcome: 'failed', settle: 'retry', retryAfterMs: expect.any(Number) })
    expect(second.retryAfterMs).toBeGreaterThan(first.retryAfterMs ?? Infinity)
    expect(third).toMatchObject({ settle: 'dead-letter', reason: 'attempts-spent' })
    expect(third).not.toHaveProperty('retryAfterMs')
    expect(bench.runs).toHaveLength(3)
  })

  it('may come back with the very same object', async () => {
    const bench = new Bench(failingTimes(1), { how: { retryWaits: 'caller' } })
    const message = messageOf('a')
    expect(await bench.handle(message)).toMatchObject({ outcome: 'failed', settle: 'retry' })
    await bench.clock.advance(1_000)
    expect(await bench.handle(message)).toEqual(HANDLED)
  })

  it('may come back too early: the message then waits for its time', async () => {
    const bench = new Bench(failingTimes(1), { how: { retryWaits: 'caller' } })
    const { retryAfterMs = 0 } = await bench.handle(messageOf('a'))
    const again = bench.handle(messageOf('a'))
    await bench.clock.advance(retryAfterMs / 2)
    expect(bench.runs).toEqual(['a'])
    await bench.clock.advance(retryAfterMs)
    expect(await again).toEqual(HANDLED)
  })

  it('may have a publisher for the dead letters all the same', async () => {
    const deadLetters: DeadLetter[] = []
    const publisher = { deadLetter: async (deadLetter: DeadLetter): Promise<void> => void deadLetters.push(deadLetter) }
    const bench = new Bench(failingTimes(9), { options: { maxAttempts: 2 }, how: { retryWaits: 'caller', publisher } })
    expect(await bench.handle(messageOf('a'))).toMatchObject({ settle: 'retry' })
    await bench.clock.advance(1_000)
    expect(await bench.handle(messageOf('a'))).toMatchObject({ settle: 'ack', reason: 'attempts-spent' })
    expect(deadLetters.map(({ attempts }) => attempts)).toEqual([2])
  })
})

async function contend(
  how: Partial<InlineOptions>,
  options: Options = {},
): Promise<{ readonly bench: Bench; readonly finish: () => void }> {
  const held = gate()
  const other = new Bench(() => held.opened)
  void other.handle(messageOf('a'))
  await turns()
  return { bench: new Bench(() => {}, { world: other, how, options }), finish: () => held.open() }
}

describe('an inline message that another owner is busy with', () => {
  it('is to be acked, with all that joined it, when its own publisher has confirmed a copy of it', async () => {
    const copies: RetryCopy[] = []
    const publisher = {
      deadLetter: async () => {},
      busyWaitMs: 1_000,
      retryLater: async (copy: RetryCopy) => void copies.push(copy),
    }
    const { bench, finish } = await contend({ publisher })
    const handling = Promise.all([bench.handle(messageOf('a')), bench.handle(messageOf('a'))])
    await bench.clock.advance(1_000)
    expect(await handling).toEqual([
      { outcome: 'handed-back', settle: 'ack' },
      { outcome: 'joined', settle: 'ack' },
    ])
    expect(copies.map(({ why }) => why)).toEqual(['busy'])
    finish()
  })

  it('goes back to a caller that tries again, with the time until the lease of the other owner is over', async () => {
    const { bench, finish } = await contend({ retryWaits: 'caller' }, { whenBusy: 'hand-back' })
    const told = await bench.handle(messageOf('a'))
    expect(told).toMatchObject({ outcome: 'handed-back', settle: 'retry' })
    expect(told.retryAfterMs).toBeGreaterThanOrEqual(30_000)
    finish()
    await turns()
    expect(await bench.handle(messageOf('a'))).toEqual({ outcome: 'duplicate', settle: 'ack' })
  })

  it('cannot be handed back where its caller does not try again', () => {
    const consumer = defineConsumer({ name: 'sms', store: memoryStore(), handle: () => {}, whenBusy: 'hand-back' })
    expect(() => runInline(consumer, { group: 'g' })).toThrow(
      /consumer "sms": whenBusy: expected 'wait' where messages have no retry place, got 'hand-back': .*retryWaits: 'caller'/,
    )
  })

  it('waits in its lane where its caller is who tries again', async () => {
    const { bench, finish } = await contend({ retryWaits: 'caller' })
    const handling = bench.handle(messageOf('a'))
    await bench.clock.advance(25_000)
    finish()
    await bench.clock.advance(1_100)
    expect(await handling).toEqual({ outcome: 'duplicate', settle: 'ack' })
  })
})

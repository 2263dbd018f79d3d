import { describe, expect, it } from '@jest/globals'
import {
  ConfigError,
  defineConsumer,
  runInline,
  StoreError,
  TerminalError,
  type InlineOptions,
  type InlineRunning,
  type Message,
  type Settlement,
} from '../../../../src/index.ts'
import { memoryStore } from '../../../../src/memory/index.ts'
import type { Delivery, DeliveryEnd, Standing } from '../../../../src/internal.ts'
import { turns } from '../../../kit/manual-clock.ts'
import { gate } from '../../../kit/rig.ts'
import { storeWith } from '../../../kit/store-with.ts'
import { Bench, HANDED_BACK, HANDLED, messageOf } from './inline-bench.ts'

describe('opening the store', () => {
  it('happens once, before the first message', async () => {
    let opened = 0
    const store = storeWith(() => ({ open: async () => void opened++ }))
    const bench = new Bench(() => {}, { options: { store } })
    expect(opened).toBe(0)
    await Promise.all([bench.handle(messageOf('a')), bench.handle(messageOf('b'))])
    await bench.handle(messageOf('c'))
    expect(opened).toBe(1)
  })

  it.each(['rejects', 'throws'])('is tried again with the next message when it %s', async (how) => {
    let opened = 0
    const store = storeWith(() => ({
      open: () => {
        if (opened++ > 0) return Promise.resolve()
        const error = new StoreError('STORE_UNREACHABLE', 'nobody there')
        if (how === 'throws') throw error
        return Promise.reject(error)
      },
    }))
    const bench = new Bench(() => {}, { options: { store } })
    await expect(bench.handle(messageOf('a'))).rejects.toThrow('nobody there')
    expect(bench.inline.state).toBe('idle')
    expect(await bench.handle(messageOf('a'))).toEqual(HANDLED)
    expect(bench.runs).toEqual(['a'])
  })
})

describe('stopping', () => {
  it('lets handlers end, gives back what waits, and takes nothing more', async () => {
    const effect = gate()
    const bench = new Bench(() => effect.opened)
    const [first, behind] = [bench.handle(messageOf('a'), 'lane'), bench.handle(messageOf('b'), 'lane')]
    await turns()
    const stopping = bench.inline.stop()
    expect(bench.inline.stop()).toBe(stopping)
    expect(await behind).toEqual(HANDED_BACK)
    expect(bench.inline.state).toBe('draining')
    effect.open()
    expect(await first).toEqual(HANDLED)
    await stopping
    expect(await bench.handle(messageOf('c'))).toEqual(HANDED_BACK)
    expect([bench.inline.state, bench.runs]).toEqual(['stopped', ['a']])
  })

  it('at its deadline gives up on a handler: have it delivered again', async () => {
    const bench = new Bench(() => new Promise(() => {}), { options: { graceMs: 100 } })
    const handling = bench.handle(messageOf('a'))
    await turns()
    const stopping = bench.inline.stop({ deadlineMs: 1_000 })
    await bench.clock.advance(1_100)
    await stopping
    expect(await handling).toEqual(HANDED_BACK)
  })

  it.each(['opens later', 'cannot be opened later'])(
    'while the store opens is no failure: a store that %s',
    async (how) => {
      const opening = gate()
      const store = storeWith(() => ({
        open: async () => {
          await opening.opened
          if (how === 'cannot be opened later') throw new StoreError('STORE_UNREACHABLE', 'nobody there')
        },
      }))
      const bench = new Bench(() => {}, { options: { store } })
      const [ready, settlement] = [bench.inline.ready(), bench.handle(messageOf('a'))]
      await turns()
      const stopping = bench.inline.stop()
      expect(await ready).toBe('stopped')
      expect(await settlement).toEqual(HANDED_BACK)
      await stopping
      opening.open()
      await turns()
      expect([await bench.inline.open(), bench.inline.state, bench.runs]).toEqual(['stopped', 'stopped', []])
    },
  )

  it('before the first message leaves the store alone', async () => {
    const bench = new Bench(() => {})
    await bench.inline.stop()
    expect(await bench.handle(messageOf('a'))).toEqual(HANDED_BACK)
    expect(bench.inline.state).toBe('stopped')
    expect(bench.store.seen).toEqual([])
  })
})

describe('deliveries of an adapter', () => {
  let bench: Bench

  class Call implements Delivery {
    readonly message: Message
    readonly lane = 'lane'
    current: Standing = 'current'
    end: Settlement | undefined

    constructor(id: string) {
      this.message = messageOf(id)
    }
    standing(): Standing {
      return this.current
    }
    settle(): boolean {
      return this.current === 'current'
    }
    onEnd(end: DeliveryEnd): void {
      this.end = bench.inline.settlementOf(end, this.message)
    }
  }

  it('left by their caller: what waits is given back, what runs goes on and is joined', async () => {
    const effect = gate()
    bench = new Bench(() => effect.opened)
    await bench.inline.open()
    const [first, second, again] = [new Call('a'), new Call('b'), new Call('a')]
    bench.inline.deliver([first, second])
    await turns()
    first.current = second.current = 'stale'
    bench.inline.standingChanged()
    expect([first.end, second.end]).toEqual([undefined, HANDED_BACK])
    bench.inline.deliver([again])
    effect.open()
    await turns()
    expect([first.end?.outcome, again.end]).toEqual(['settle-refused', { outcome: 'joined', settle: 'ack' }])
    expect(bench.runs).toEqual(['a'])
  })

  it('of which only the one that joined can still be settled: it gets the dead letter', async () => {
    const effect = gate()
    bench = new Bench(() => effect.opened.then(() => Promise.reject(new TerminalError('no'))))
    await bench.inline.open()
    const [first, again] = [new Call('a'), new Call('a')]
    bench.inline.deliver([first])
    await turns()
    first.current = 'stale'
    bench.inline.deliver([again])
    effect.open()
    await turns()
    expect(first.end?.outcome).toBe('settle-refused')
    expect(again.end).toMatchObject({
      outcome: 'joined',
      settle: 'dead-letter',
      deadLetter: { message: again.message },
    })
  })
})

describe('what callers without types give', () => {
  it.each<unknown>([undefined, null, {}])('is refused: options %j', (options) => {
    const consumer = defineConsumer({ name: 'consumer', store: memoryStore(), handle: () => {} })
    const run = (): InlineRunning => runInline(consumer, options as InlineOptions)
    expect(run).toThrow(ConfigError)
    expect(run).toThrow('group: expected text, got undefined')
  })

  it.each([
    ['message: expected a Message object, got undefined', undefined],
    ['message: expected a Message object, got null', null],
    ['message.destination: expected text, got undefined', { ...messageOf('a'), destination: undefined }],
    ['message.origin: expected text, got undefined', { ...messageOf('a'), origin: undefined }],
    ['message.position: expected text, got number', { ...messageOf('a'), position: 7 }],
    ['message.key: expected bytes or null, got string', { ...messageOf('a'), key: 'k' }],
    ['message.value: expected bytes or null, got undefined', { ...messageOf('a'), value: undefined }],
    ['message.headers: expected an object, got null', { ...messageOf('a'), headers: null }],
  ])('is refused before anything is touched: %s', async (problem, message) => {
    const bench = new Bench(() => {})
    const handling = bench.handle(message as unknown as Message)
    await expect(handling).rejects.toThrow(new TypeError(problem))
    expect(bench.inline.state).toBe('idle')
    expect(await bench.handle(messageOf('a'))).toEqual(HANDLED)
  })
})

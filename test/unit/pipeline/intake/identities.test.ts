import { afterEach, describe, expect, it } from '@jest/globals'
import { ConfigError } from '../../../../src/foundation/errors.ts'
import { defineConsumer, runInline } from 'consume-once'
import { memorySequences } from 'consume-once/memory'
import { memoryStore } from '../../../../src/memory/store.ts'
import type { Store } from '../../../../src/ports/store.ts'
import { MemoryInbox } from '../../../../testing/stores/memory-inbox.ts'
import { MemoryOffsets } from '../../../../testing/stores/memory-offsets.ts'
import { storeWith } from '../../../kit/store-with.ts'
import { messageId } from '../../../../src/identity/message-id.ts'
import { resolveOptions } from '../../../../src/consumer/resolve-options.ts'
import type { Sent } from '../../../kit/recording-source.ts'
import { endRigs, gate, startRig, STYLES, World, type Rig, type RigOptions } from '../../../kit/rig.ts'

afterEach(endRigs)

const ID = [messageId.header('id'), messageId.header('order')] as const

const start = (options: Partial<RigOptions> = {}): Promise<Rig> =>
  startRig({ id: [...ID], effect: (work) => work.apply(), ...options })

/** A message with an ID of its own, and of an order. */
function of(id: string | undefined, order: string | undefined, more: Partial<Sent> = {}): Sent {
  return { id, ...more, headers: { ...(id && { id }), ...(order && { order }) } }
}

describe.each(STYLES)('several identities ($strategy, $handler)', (style) => {
  it('make a repeat by either a duplicate, and its new keys too', async () => {
    const rig = await start({ style })
    await rig.deliver(of('a', '1'))
    await rig.deliver(of('a', '2'))
    await rig.deliver(of('b', '1'))
    // Known only by what was a duplicate itself.
    await rig.deliver(of('b', '3'))
    await rig.deliver(of('c', '2'))
    await rig.deliver(of('d', '4'))
    expect(rig.outcomes()).toEqual(['handled', 'duplicate', 'duplicate', 'duplicate', 'duplicate', 'handled'])
    expect(rig.world.effects).toEqual(['a', 'd'])
  })

  it('never take an ID of one for the same ID of another', async () => {
    const rig = await start({ style })
    await rig.deliver(of('a', '1'))
    await rig.deliver(of('1', 'a'))
    expect(rig.outcomes()).toEqual(['handled', 'handled'])
  })

  it('are as many as a message has, and at least one', async () => {
    const rig = await start({ style })
    await rig.deliver(of('a', undefined), of(undefined, '1'), of(undefined, undefined))
    await rig.deliver(of('a', '1'), of(undefined, '1'), of('a', undefined))
    expect(rig.outcomes().toSorted()).toEqual(['dead-lettered', 'duplicate', 'handled', 'handled', 'joined', 'joined'])
    expect(rig.source.deadLetters).toMatchObject([{ reason: 'no-id' }])
  })

  it('wait for each other in this process, and have one effect', async () => {
    const held = gate()
    const rig = await start({ style, effect: (work) => held.opened.then(work.apply) })
    await rig.deliver(of('a', '1'))
    await rig.deliver(of('b', '1'), of('b', '2'), of('a', '2'))
    expect(rig.started).toEqual(['a'])
    held.open()
    await rig.clock.advance(1_000)
    expect(rig.outcomes()).toEqual(['handled', 'duplicate', 'duplicate', 'duplicate'])
    expect(rig.world.effects).toEqual(['a'])
  })

  it('join a running message only with keys and payloads that it has', async () => {
    const held = gate()
    const id = [messageId.header('id'), { id: messageId.header('order'), compare: ['/amount'] }] as const
    const rig = await start({ style, id: [...id], effect: (work) => held.opened.then(work.apply) })
    await rig.deliver(of('a', '1', { payload: { amount: 1, at: 1 } }))
    await rig.deliver(of('a', '1', { payload: { amount: 1, at: 2 } }), of('a', undefined, { payload: { amount: 2 } }))
    await rig.deliver(of('b', '1', { payload: { amount: 2 } }))
    held.open()
    await rig.clock.advance(1_000)
    expect(rig.outcomes().toSorted()).toEqual(['dead-lettered', 'handled', 'joined', 'joined'])
    expect(rig.source.deadLetters).toMatchObject([{ reason: 'conflict' }])
    // The conflict left nothing behind.
    await rig.deliver(of('b', '9', { payload: { amount: 2 } }))
    expect(rig.outcomes().at(-1)).toBe('handled')
  })

  it('are given back together when another process has one of them, at no cost of an attempt', async () => {
    const world = new World()
    const held = gate()
    const first = await start({ style, world, effect: (work) => held.opened.then(work.apply) })
    const second = await start({ style, world, maxAttempts: 1 })
    await first.deliver(of('a', '1'))
    await second.deliver(of('b', '1'), of('c', '3'))
    expect(second.outcomes()).not.toContain('dead-lettered')
    // Free again for anybody, while the other process still runs.
    const third = await start({ style, world, maxAttempts: 1 })
    await third.deliver(of('b', '2'))
    held.open()
    await world.clock.advance(10_000)
    expect([first.outcomes(), third.outcomes()]).toEqual([['handled'], ['handled']])
    expect(second.outcomes().toSorted()).toEqual(['duplicate', 'handled'])
    expect(world.effects.toSorted()).toEqual(['a', 'b', 'c'])
  })

  it('cross in two processes, in both orders, with one effect and an end', async () => {
    const world = new World()
    const rigs = [await start({ style, world }), await start({ style, world })]
    for (let round = 0; round < 20; round++) {
      const pairs = [of(`a${round}`, `1${round}`), of(`b${round}`, `1${round}`), of(`a${round}`, `2${round}`)]
      for (const rig of rigs) rig.source.deliver(...pairs)
      pairs.reverse()
    }
    await world.clock.advance(30_000)
    for (const rig of rigs) {
      expect(rig.outcomes()).toHaveLength(60)
      expect(new Set(rig.outcomes())).not.toContain('dead-lettered')
    }
    // a and b share an order, and a has two: one message.
    const perRound = Array.from({ length: 20 }, (_, round) =>
      world.effects.filter((id) => id.slice(1) === String(round)),
    )
    expect(perRound.map(({ length }) => length)).toEqual(perRound.map(() => 1))
  })

  it('are set aside and released together, and the severest decides', async () => {
    const rig = await start({ style, maxAttempts: 1, effect: () => Promise.reject(new Error('no')) })
    await rig.deliver(of('a', '1'))
    await rig.deliver(of('b', '1'))
    await rig.deliver(of('a', '2'))
    await rig.clock.advance(1_000)
    expect(rig.source.deadLetters.map(({ reason }) => reason)).toEqual([
      'attempts-spent',
      'attempts-spent',
      'attempts-spent',
    ])
    expect(rig.started).toEqual(['a'])
    expect(rig.outcomes()).toEqual(['dead-lettered', 'dead-lettered', 'dead-lettered'])
  })

  it('count the attempts of the key that has the most', async () => {
    const world = new World()
    const attempts: number[] = []
    const failing = await start({
      style,
      world,
      maxAttempts: 3,
      backoff: { initialMs: 10, maxMs: 10 },
      effect: ({ attempt }) => {
        attempts.push(attempt)
        throw new Error('no')
      },
    })
    failing.source.deliver(of('a', '1'))
    await world.clock.advance(5)
    failing.source.deliver(of('b', '1'))
    await world.clock.advance(5_000)
    expect(attempts).toEqual([1, 2, 3])
    expect(failing.outcomes()).toEqual(['dead-lettered', 'dead-lettered'])
  })
})

describe('several identities under a lease', () => {
  it('are in doubt together, and park together', async () => {
    const world = new World()
    const first = await start({ world, leaseMs: 1_000, effect: () => new Promise(() => {}) })
    await first.deliver(of('a', '1'))
    first.store.isDown = true
    world.clock.skip(1_100)
    const second = await start({ world, onInDoubt: 'park' })
    await second.deliver(of('b', '1'))
    await world.clock.advance(3_000)
    expect(second.source.deadLetters).toMatchObject([{ reason: 'in-doubt', parked: true }])
    await second.deliver(of('b', '2'))
    expect(second.source.deadLetters).toHaveLength(2)
    expect(second.started).toEqual([])
  })

  it('never run a message in doubt by one key that is done by another', async () => {
    const world = new World()
    const first = await start({
      world,
      leaseMs: 1_000,
      effect: (work) => (work.id === 'a' ? new Promise(() => {}) : work.apply()),
    })
    await first.deliver(of('a', '1'), of('b', '2'))
    first.store.isDown = true
    world.clock.skip(1_100)
    const second = await start({ world })
    await second.deliver(of('a', '2'))
    await world.clock.advance(3_000)
    expect(second.outcomes()).toEqual(['duplicate'])
    await second.deliver(of('c', '1'))
    await world.clock.advance(3_000)
    // By order 1 it is the message in doubt, which nobody has linked to what is done.
    expect(world.effects).toEqual(['b', 'c'])
  })

  it('renew all their claims', async () => {
    const held = gate()
    const rig = await start({ leaseMs: 1_000, effect: (work) => held.opened.then(work.apply) })
    await rig.deliver(of('a', '1'))
    await rig.clock.advance(5_000)
    const second = await start({ world: rig.world })
    await second.deliver(of('b', '1'))
    held.open()
    await rig.clock.advance(5_000)
    expect([rig.outcomes(), second.outcomes()]).toEqual([['handled'], ['duplicate']])
    expect(rig.world.effects).toEqual(['a'])
  })
})

describe('several identities', () => {
  const SEAL = { seal: (text: string) => text, open: (text: string) => text }

  const problemsOf = (options: object): readonly string[] => {
    try {
      resolveOptions({ name: 'a', store: memoryStore(), handle: () => {}, id: [...ID], ...options })
    } catch (error) {
      if (error instanceof ConfigError) return error.problems
      throw error
    }
    return []
  }

  it.each<readonly [string, object, string]>([
    ['onConflict', { onConflict: 'duplicate' }, 'onConflict: not possible with several identities (id): say `compare`'],
    ['mode observe', { mode: 'observe' }, 'mode: not possible with several identities (id): its report'],
    ['runs without a store', { onStoreDown: 'run-unprotected' }, 'onStoreDown: not possible with several identities'],
    ['sealed results', { rememberResult: true, sealResult: SEAL }, 'sealResult: not possible with several identities'],
    [
      'failures that an inbox remembers',
      { store: new MemoryInbox(), rememberFailure: () => true },
      'rememberFailure: not possible with several identities (id): an inbox keeps a failure under one key',
    ],
    [
      'sequences',
      { store: memorySequences() },
      'store: not possible with several identities (id): a store of sequences',
    ],
    ['sequences in an inbox', { store: inboxOfSequences() }, 'store: not possible with several identities (id)'],
    ['stored positions', { store: new MemoryOffsets() }, 'id: leave it out with a store of strategy offsets'],
    [
      'a store that marks first',
      { store: storeWith(() => ({ marksFirst: true })) },
      'store: not possible with several identities (id): it marks before the handler',
    ],
    ['none', { id: [] }, 'id: expected a list of 1 to 8, of identities, got none'],
    [
      'one that is no extractor',
      { id: [ID[0], 'order'] },
      'id[1]: expected an ID extractor or { id, compare }, got "order"',
    ],
    ['fields that are no pointers', { id: [ID[0], { id: ID[1], compare: ['amount'] }] }, 'id[1].compare'],
    [
      'a misspelt word',
      { id: [ID[0], { id: ID[1], compares: 'payload' }] },
      'id[1].compares: unknown option; did you mean compare?',
    ],
  ])('are refused at the start with %s', (_what, options, problem) => {
    expect(problemsOf(options)).toEqual([expect.stringContaining(problem)])
  })

  it.each<readonly [string, object]>([
    ['a lease', {}],
    ['an inbox', { store: new MemoryInbox() }],
    ['whenBusy', { whenBusy: 'hand-back' }],
    ['results, on an inbox too', { store: new MemoryInbox(), rememberResult: true }],
    ['failures that a lease remembers', { rememberFailure: () => true }],
    ['what is in doubt parked', { onInDoubt: 'park' }],
    ['a window', { id: [ID[0], messageId.window(ID[1], { fixedMs: 60_000 })] }],
    ['a fingerprint', { id: [ID[0], messageId.fingerprint()] }],
  ])('are possible with %s', (_what, options) => {
    expect(problemsOf(options)).toEqual([])
  })

  it('keep the result under each of their keys', async () => {
    const settlements: unknown[] = []
    const consumer = defineConsumer({
      name: 'a',
      store: memoryStore(),
      id: [...ID],
      rememberResult: true,
      handle: () => 'charged',
    })
    const inline = runInline(consumer, { group: 'g' })
    for (const [id, order] of [
      ['a', '1'],
      ['a', '2'],
      ['b', '1'],
    ]) {
      const at = { destination: 'q', origin: 'q', position: '1', key: null, value: Buffer.from('{}') }
      settlements.push(await inline.handle({ system: 'memory', ...at, headers: { id, order } }))
    }
    await inline.stop()
    expect(settlements).toEqual([
      { outcome: 'handled', settle: 'ack', result: 'charged' },
      { outcome: 'duplicate', settle: 'ack', result: 'charged' },
      { outcome: 'duplicate', settle: 'ack', result: 'charged' },
    ])
  })
})

function inboxOfSequences(): Store<unknown> {
  return Object.assign(new MemoryInbox(), { keys: 'sequences' as const })
}

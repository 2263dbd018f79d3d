import { afterEach, describe, expect, it } from '@jest/globals'
import type { IdExtractor } from '../../../../src/identity/message-id.ts'
import { TestDelivery } from '../../../kit/recording-source.ts'
import { turns } from '../../../kit/manual-clock.ts'
import { endRigs, gate, startRig, STYLES, World, type Rig, type RigOptions } from '../../../kit/rig.ts'

afterEach(endRigs)

const start = (options: Partial<RigOptions> = {}): Promise<Rig> =>
  startRig({ effect: (work) => work.apply(), ...options })

describe.each(STYLES)('identify ($strategy, $handler)', (style) => {
  it('dead-letters each message without a usable ID by itself, and never merges two of them', async () => {
    const rig = await start({ style })
    const unusable = [undefined, '', '   ', 'x'.repeat(513), '\uD800', 'é'.repeat(257)]
    await rig.deliver(...unusable.map((id) => ({ id })), ...unusable.map((id) => ({ id })))
    expect(rig.source.deadLetters.map(({ reason }) => reason)).toEqual(unusable.flatMap(() => ['no-id', 'no-id']))
    expect(rig.outcomes()).toEqual(unusable.flatMap(() => ['dead-lettered', 'dead-lettered']))
    expect(rig.source.deliveries.map(({ settled }) => settled)).toEqual(unusable.flatMap(() => [1, 1]))
    expect(rig.started).toEqual([])
    expect(rig.store.seen).toEqual([])
  })

  it('handles an ID of exactly 512 bytes [T152]', async () => {
    const rig = await start({ style })
    await rig.deliver('x'.repeat(512))
    expect(rig.outcomes()).toEqual(['handled'])
  })

  it('compares IDs as they are: case, spaces and normal forms make other messages', async () => {
    const rig = await start({ style })
    const ids = ['order', 'Order', 'order ', '\u00e9', 'e\u0301']
    await rig.deliver(...ids)
    expect(rig.world.effects.toSorted()).toEqual(ids.toSorted())
  })

  it('joins the copies of a message in one batch: one effect, and every copy is settled', async () => {
    const rig = await start({ style })
    const copies = await rig.deliver('a', 'b', 'a', 'a')
    expect(rig.world.effects.toSorted()).toEqual(['a', 'b'])
    expect(rig.outcomes().toSorted()).toEqual(['handled', 'handled', 'joined', 'joined'])
    expect(copies.map(({ settled }) => settled)).toEqual([1, 1, 1, 1])
  })

  it('settles what is done as a duplicate, without a handler', async () => {
    const rig = await start({ style })
    await rig.deliver('a')
    const [again] = await rig.deliver('a')
    expect(rig.outcomes()).toEqual(['handled', 'duplicate'])
    expect(again?.settled).toBe(1)
    expect(rig.started).toEqual(['a'])
  })

  it('dead-letters another payload under the ID of a done message, and leaves the record as it is', async () => {
    const rig = await start({ style })
    await rig.deliver({ id: 'a', payload: 1 })
    await rig.deliver({ id: 'a', payload: 2 })
    expect(rig.source.deadLetters).toMatchObject([{ reason: 'conflict', parked: false }])
    await rig.deliver({ id: 'a', payload: 1 })
    expect(rig.outcomes()).toEqual(['handled', 'dead-lettered', 'duplicate'])
    expect(rig.started).toEqual(['a'])
  })

  it('does not ask where in its stream a message lies: a source may have to make that up', async () => {
    const rig = await start({ style })
    let asked = 0
    Object.defineProperty(TestDelivery.prototype, 'position', {
      configurable: true,
      get: () => {
        asked++
        return { stream: 'topic/0', offset: 0n }
      },
    })
    try {
      await rig.deliver('b')
    } finally {
      Reflect.deleteProperty(TestDelivery.prototype, 'position')
    }
    expect([rig.outcomes(), asked]).toEqual([['handled'], 0])
  })

  it('handles another payload under the same ID as a duplicate where digests are not compared', async () => {
    const rig = await start({ style, onConflict: 'duplicate' })
    await rig.deliver({ id: 'a', payload: 1 }, { id: 'a', payload: 2 })
    await rig.deliver({ id: 'a', payload: 3 })
    expect(rig.outcomes()).toEqual(['handled', 'joined', 'duplicate'])
    expect(rig.source.deadLetters).toEqual([])
  })
})

describe('identify', () => {
  it('dead-letters another payload under the ID of a message under way, which goes on', async () => {
    const rig = await start()
    await rig.deliver({ id: 'a', payload: 1 }, { id: 'a', payload: 2 })
    expect(rig.source.deadLetters).toMatchObject([{ reason: 'conflict', message: { position: '0@1' } }])
    expect(rig.outcomes().toSorted()).toEqual(['dead-lettered', 'handled'])
    expect(rig.world.effects).toEqual(['a'])
  })

  it('leaves it to the record which payload is the other one, not to what comes first here', async () => {
    const world = new World()
    const first = await start({ world, leaseMs: 1_000, effect: () => new Promise(() => {}) })
    await first.deliver({ id: 'a', payload: 1 })
    // Its process is gone, and both come here at once, the wrong one before the other.
    first.store.isDown = true
    world.clock.skip(1_100)
    const second = await start({ world })
    await second.deliver(
      { id: 'a', payload: 2, lane: 'k' },
      { id: 'b', lane: 'k' },
      { id: 'a', payload: 1, lane: 'k' },
      { id: 'c', lane: 'k' },
      { id: 'a', payload: 1, lane: 'k' },
    )
    await world.clock.advance(3_000)
    expect(second.source.deadLetters).toMatchObject([{ reason: 'conflict', message: { position: '0@0' } }])
    expect(second.outcomes()).toEqual(['dead-lettered', 'handled', 'handled', 'joined', 'handled'])
    // Each in its own place of the lane.
    expect(world.effects).toEqual(['b', 'a', 'c'])
  })

  it.each(['k', 'another'])(
    'lets several payloads under one ID wait for each other, the next one in lane %s',
    async (lane) => {
      const held = gate()
      const rig = await start({ effect: (work) => (work.id === 'a' ? held.opened : work.apply()) })
      await rig.deliver(
        { id: 'a', payload: 1, lane: 'k' },
        { id: 'a', payload: 2, lane },
        { id: 'a', payload: 3 },
        { id: 'b', lane },
        { id: 'c' },
      )
      expect(rig.started).toEqual(['a', 'c'])
      held.open()
      await rig.clock.advance(1_000)
      expect(rig.started).toEqual(['a', 'c', 'b'])
      expect(rig.outcomes().toSorted()).toEqual(['dead-lettered', 'dead-lettered', 'handled', 'handled', 'handled'])
    },
  )

  it('gives back what waits for the verdict on another payload, when it stops', async () => {
    const held = gate()
    const rig = await start({ effect: () => held.opened })
    await rig.deliver({ id: 'a', payload: 1 }, { id: 'a', payload: 2 })
    const stopping = rig.running.stop({ deadlineMs: 5_000 })
    await turns()
    held.open()
    await stopping
    expect(rig.outcomes().toSorted()).toEqual(['handed-back', 'handled'])
  })

  it.each([
    ['a number with a fraction', () => 4.2],
    ['a number that may have lost digits', () => 2 ** 53],
    ['a boolean', () => true],
    ['an object', () => ({ id: 'a' })],
  ])('dead-letters a message whose extractor returns %s, and goes on', async (what, extract) => {
    const id: IdExtractor = (message) =>
      message.headers['id'] === 'odd' ? (extract() as unknown as string) : String(message.headers['id'])
    const rig = await start({ id })
    await rig.deliver('a', 'odd', 'b')
    const detail = `the ID extractor: expected text, bytes or a whole number up to 2^53 - 1, got ${what}`
    expect(rig.source.deadLetters).toMatchObject([{ reason: 'no-id', detail }])
    expect(rig.world.effects).toEqual(['a', 'b'])
    expect(rig.running.health().checks['handlers']).toBe('0 in flight')
  })

  it('dead-letters a message whose extractor returns a promise, and says what to do', async () => {
    const rig = await start({ id: () => Promise.resolve('a') as unknown as string })
    await rig.deliver('a')
    const detail =
      'the ID extractor threw: id: expected an answer at once, got a promise: return the ID itself. What has to be awaited belongs into decode, and the extractor reads its payload'
    expect(rig.source.deadLetters).toMatchObject([{ reason: 'no-id', detail }])
  })

  it('takes a whole number that the extractor returns for its text', async () => {
    const ids: unknown[] = [42, '42', 42n]
    const rig = await start({ id: () => ids.shift() as string })
    await rig.deliver('a', 'b', 'c')
    expect(rig.outcomes().toSorted()).toEqual(['handled', 'joined', 'joined'])
  })

  it('dead-letters a message whose extractor throws', async () => {
    const rig = await start({
      id: () => {
        throw new TypeError('no such field')
      },
    })
    await rig.deliver('a')
    expect(rig.source.deadLetters).toMatchObject([{ reason: 'no-id', detail: 'the ID extractor threw: no such field' }])
  })

  it('calls a message undecodable, not without an ID, when its ID is in a payload that cannot be read', async () => {
    const rig = await start({ id: (message) => (message.payload as { id: string }).id })
    await rig.deliver({ id: 'a', bytes: Buffer.from('{"id":') })
    expect(rig.source.deadLetters).toMatchObject([{ reason: 'undecodable' }])
  })

  it('decodes a payload once for an extractor, however often it reads it', async () => {
    let decoded = 0
    const rig = await start({
      id: (message) => {
        const payload = message.payload as { kind: string; id: string }
        return `${payload.kind}:${(message.payload as { id: string }).id}`
      },
      decode: (value) => {
        decoded++
        return JSON.parse(Buffer.from(value ?? []).toString()) as unknown
      },
    })
    await rig.deliver({ id: 'a', payload: { kind: 'sms', id: 'a' } })
    // The second time is for the handler, which may change what it gets.
    expect(decoded).toBe(2)
    expect(rig.world.effects).toEqual(['a'])
  })

  it('keeps the keys of scopes apart, and one option replaces group, origin and name [T59]', async () => {
    const rig = await start({ scope: 'a' })
    const other = await start({ scope: 'b', world: rig.world })
    const same = await start({ scope: 'a', world: rig.world })
    await rig.deliver('1')
    await other.deliver('1')
    await same.deliver('1')
    expect([rig.outcomes(), other.outcomes(), same.outcomes()]).toEqual([['handled'], ['handled'], ['duplicate']])
  })
})

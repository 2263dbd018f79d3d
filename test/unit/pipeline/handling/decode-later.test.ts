import { afterEach, describe, expect, it } from '@jest/globals'
import { NoEffectError, TerminalError } from '../../../../src/index.ts'
import { endRigs, gate, startRig, STYLES, World, type Rig } from '../../../kit/rig.ts'

afterEach(endRigs)

const BACKOFF = { initialMs: 100, maxMs: 1_000 }

function parsed(value: Uint8Array | null): unknown {
  return JSON.parse(Buffer.from(value ?? []).toString())
}

function away(): Error {
  return Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:8081'), { code: 'ECONNREFUSED', syscall: 'connect' })
}

function attemptsOf({ world }: Rig): unknown[] {
  return [...world.records.values()].map((record) => ('attempt' in record ? record.attempt : undefined))
}

async function parsedLater(value: Uint8Array | null): Promise<unknown> {
  return parsed(value)
}

async function refuseLater(): Promise<never> {
  throw away()
}

function idOf({ payload }: { readonly payload: unknown }): string {
  return (payload as { readonly id: string }).id
}

describe.each(STYLES)('a payload that is decoded later ($strategy, $handler)', (style) => {
  it('reaches the handler decoded, with its schema applied', async () => {
    const payloads: unknown[] = []
    const rig = await startRig({
      style,
      decode: async (value) => parsed(value),
      payloadSchema: {
        '~standard': { version: 1, vendor: 'test', validate: async (value) => ({ value: { checked: value } }) },
      },
      effect: (work) => payloads.push(work.payload),
    })
    await rig.deliver({ id: 'a', payload: 1 }, { id: 'b', payload: 2 })
    expect(payloads).toEqual([{ checked: 1 }, { checked: 2 }])
    expect(rig.outcomes()).toEqual(['handled', 'handled'])
  })

  it('by a promise of another realm is awaited too', async () => {
    const payloads: unknown[] = []
    const rig = await startRig({
      style,
      decode: (value) => {
        const promise = Promise.resolve(parsed(value))
        // oxlint-disable-next-line unicorn/no-thenable
        return { then: promise.then.bind(promise) }
      },
      effect: (work) => payloads.push(work.payload),
    })
    await rig.deliver({ id: 'a', payload: 1 })
    expect(payloads).toEqual([1])
  })

  it('is set aside when the promise is rejected, and the others of its batch go on', async () => {
    const rig = await startRig({
      style,
      decode: async (value) => parsed(value),
      effect: (work) => work.apply(),
    })
    await rig.deliver('a', { id: 'bad', bytes: Buffer.from('{') }, 'b')
    await rig.clock.advance(1_000)
    expect(rig.world.effects.toSorted()).toEqual(['a', 'b'])
    expect(rig.source.deadLetters).toMatchObject([{ reason: 'undecodable', parked: false, attempts: 0 }])
  })

  it('is decoded together with the others of its claim', async () => {
    let now = 0
    let most = 0
    const open = gate()
    const rig = await startRig({
      style,
      shares: true,
      decode: async (value) => {
        // Others deliver while the rig starts.
        if (parsed(value) !== 'slow') return parsed(value)
        most = Math.max(most, ++now)
        await open.opened
        now--
        return parsed(value)
      },
      effect: (work) => work.apply(),
    })
    await rig.deliver(...['a', 'b', 'c', 'd'].map((id) => ({ id, payload: 'slow' })))
    open.open()
    await rig.clock.advance(1_000)
    expect(rig.world.effects.toSorted()).toEqual(['a', 'b', 'c', 'd'])
    expect(most).toBe(4)
  })

  it('waits while its registry is down, however long, with no attempt counted, and is handled then', async () => {
    let isDown = true
    let asked = 0
    const rig = await startRig({
      style,
      maxAttempts: 2,
      backoff: BACKOFF,
      decode: async (value) => {
        asked++
        if (isDown) throw away()
        return parsed(value)
      },
      effect: (work) => work.apply(),
    })
    await rig.deliver('a', 'b')
    await rig.clock.advance(60_000)
    expect(rig.started).toEqual([])
    expect(rig.source.deadLetters).toEqual([])
    expect(rig.running.health()).toMatchObject({ live: true, ready: false })
    expect(rig.running.health().checks['decode']).toBe(
      '2 messages wait for what decodes payloads: connect ECONNREFUSED 127.0.0.1:8081',
    )
    // Two messages, at most once a second each: their delays grow to `maxMs`.
    expect(asked).toBeLessThan(2 * 140)
    isDown = false
    await rig.clock.advance(2_000)
    expect(rig.world.effects.toSorted()).toEqual(['a', 'b'])
    expect(rig.outcomes()).toEqual(['handled', 'handled'])
    expect(rig.running.health()).toMatchObject({ ready: true })
    expect(rig.running.health().checks).not.toHaveProperty('decode')
    expect([rig.count('decode-down'), rig.count('decode-up')]).toEqual([1, 1])
    // An inbox has no such records.
    expect(attemptsOf(rig)).not.toContain(2)
  })

  it('holds up only its own lane while others can be decoded', async () => {
    const rig = await startRig({
      style,
      backoff: BACKOFF,
      decode: async (value) => {
        if (parsed(value) === 'unknown schema') throw away()
        return parsed(value)
      },
      effect: (work) => work.apply(),
    })
    await rig.deliver(
      { id: 'a', payload: 'unknown schema', lane: 'one' },
      { id: 'behind', payload: 1, lane: 'one' },
      { id: 'b', payload: 1, lane: 'two' },
      { id: 'c', payload: 1 },
    )
    await rig.clock.advance(10_000)
    expect(rig.world.effects.toSorted()).toEqual(['b', 'c'])
    expect(rig.source.deadLetters).toEqual([])
  })

  it('that never comes is tried again after the time limit of a handler, and holds up nobody else', async () => {
    const rig = await startRig({
      style,
      concurrency: 1,
      transactions: 1,
      batchSize: 1,
      handlerTimeoutMs: 10_000,
      graceMs: 1_000,
      maxAttempts: 2,
      decode: (value) => (parsed(value) === 'odd' ? new Promise(() => {}) : parsed(value)),
      effect: (work) => work.apply(),
    })
    await rig.deliver({ id: 'odd', payload: 'odd' }, { id: 'b', payload: 1 })
    await rig.clock.advance(60_000)
    expect(rig.world.effects).toEqual(['b'])
    expect(rig.source.deadLetters).toEqual([])
    expect(rig.running.health()).toMatchObject({ live: true, ready: false })
    expect(rig.running.health().checks['decode']).toContain('was not decoded within 10 s')
  })

  it.each([
    ['TerminalError', () => new TerminalError('no such schema', { cause: away() }), 'undecodable'],
    ['NoEffectError', () => new NoEffectError('the registry starts'), undefined],
    ['a cause', () => new TypeError('fetch failed', { cause: away() }), undefined],
    ['an ordinary error', () => new TypeError('no such field'), 'undecodable'],
  ])('is judged by its error: %s', async (_, error, reason) => {
    let isFirst = true
    const rig = await startRig({
      style,
      backoff: BACKOFF,
      decode: () => {
        if (!isFirst) return 1
        isFirst = false
        throw error()
      },
      effect: (work) => work.apply(),
    })
    await rig.deliver('a')
    await rig.clock.advance(10_000)
    const ended = [...rig.world.effects, ...rig.source.deadLetters.map((letter) => letter.reason)]
    expect(ended).toEqual([reason ?? 'a'])
  })

  it('does not hold up a stop', async () => {
    const rig = await startRig({ style, decode: () => new Promise(() => {}), effect: (work) => work.apply() })
    await rig.deliver('a', 'b')
    const stopping = rig.running.stop({ deadlineMs: 30_000 })
    await rig.clock.advance(0)
    await stopping
    expect(rig.outcomes()).toEqual(['handed-back', 'handed-back'])
    expect(rig.count('decode-down')).toBe(0)
  })

  it('runs in another process when its delivery moves while its registry is down', async () => {
    const world = new World()
    let isDown = true
    const decode = async (value: Uint8Array | null): Promise<unknown> => {
      if (isDown) throw away()
      return parsed(value)
    }
    const rig = await startRig({ style, world, backoff: BACKOFF, decode, effect: (work) => work.apply() })
    const [delivery] = await rig.deliver('a')
    await rig.clock.advance(5_000)
    isDown = false
    if (delivery !== undefined) rig.source.stand('lost', delivery)
    await rig.clock.advance(5_000)
    expect(rig.running.health()).toMatchObject({ ready: true })
    const other = await startRig({ style, world, backoff: BACKOFF, decode, effect: (work) => work.apply() })
    await other.deliver('a')
    expect(world.effects).toEqual(['a'])
  })
})

describe.each(STYLES)('an ID in a payload that is decoded later ($strategy, $handler)', (style) => {
  it('is found, and messages of one lane keep their order', async () => {
    const effects: unknown[] = []
    const rig = await startRig({ style, id: idOf, decode: parsedLater, effect: (work) => effects.push(work.payload) })
    const sent = ['1', '2', '3', '2'].map((id) => ({ id, payload: { id }, lane: 'one' }))
    await rig.deliver(...sent)
    expect(effects).toEqual([{ id: '1' }, { id: '2' }, { id: '3' }])
    expect(rig.outcomes().toSorted()).toEqual(['handled', 'handled', 'handled', 'joined'])
  })

  it('waits while the registry is down, and is found then', async () => {
    let isDown = true
    const rig = await startRig({
      style,
      id: idOf,
      backoff: BACKOFF,
      decode: async (value) => {
        if (isDown) throw away()
        return parsed(value)
      },
      effect: (work) => work.apply(),
    })
    await rig.deliver({ id: 'a', payload: { id: 'a' } }, { id: 'b', payload: { id: 'b' } })
    await rig.clock.advance(60_000)
    expect(rig.source.deadLetters).toEqual([])
    expect(rig.running.health()).toMatchObject({ ready: false })
    isDown = false
    await rig.clock.advance(2_000)
    expect(rig.world.effects.toSorted()).toEqual(['a', 'b'])
    expect(rig.running.health()).toMatchObject({ ready: true })
  })

  it('that cannot be decoded is a payload that cannot be decoded', async () => {
    const rig = await startRig({
      style,
      id: idOf,
      decode: async (value) => parsed(value),
      effect: (work) => work.apply(),
    })
    await rig.deliver({ id: 'bad', bytes: Buffer.from('{') }, { id: 'b', payload: { id: 'b' } })
    expect(rig.source.deadLetters).toMatchObject([{ reason: 'undecodable' }])
    expect(rig.world.effects).toEqual(['b'])
  })

  it('is handed back by a stop, and by a delivery that moves', async () => {
    const rig = await startRig({ style, id: idOf, decode: refuseLater, effect: (work) => work.apply() })
    const [first] = await rig.deliver({ id: 'a', payload: { id: 'a' } }, { id: 'b', payload: { id: 'b' } })
    if (first !== undefined) rig.source.stand('lost', first)
    await rig.clock.advance(100)
    expect(rig.outcomes()).toEqual(['handed-back'])
    await rig.running.stop({ deadlineMs: 0 })
    expect(rig.outcomes()).toEqual(['handed-back', 'handed-back'])
  })
})

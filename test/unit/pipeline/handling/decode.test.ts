import { afterEach, describe, expect, it } from '@jest/globals'
import type { StandardSchema } from '../../../../src/consumer/decode.ts'
import { endRigs, gate, startRig, STYLES, World } from '../../../kit/rig.ts'

afterEach(endRigs)

type Answer = ReturnType<StandardSchema<unknown, unknown>['~standard']['validate']>

const RETRY = { initialMs: 100, maxMs: 100 }
const good: Answer = { value: 'checked' }
const bad: Answer = { issues: [{ message: 'expected text', path: ['to', { key: 0 }] }] }

function schema(validate: (value: unknown) => Answer): StandardSchema<unknown, unknown> {
  return { '~standard': { version: 1, vendor: 'test', validate } }
}

describe.each(STYLES)('a payload ($strategy, $handler)', (style) => {
  const flavours: readonly (readonly [string, (answer: () => Answer) => Answer])[] = [
    ['at once', (answer) => answer()],
    ['later', async (answer) => answer()],
    // Not an instance of the Promise of this realm.
    ['later, from another realm', (answer) => thenable(answer)],
  ]

  describe.each(flavours)('checked %s', (_, answer) => {
    it('reaches the handler as the schema made it', async () => {
      const payloads: unknown[] = []
      const rig = await startRig({
        style,
        payloadSchema: schema(() => answer(() => good)),
        effect: (work) => payloads.push(work.payload),
      })
      await rig.deliver('a', 'b')
      expect(payloads).toEqual(['checked', 'checked'])
    })

    it('that fails the schema is set aside with its reason, without a handler; the others of its batch go on', async () => {
      const rig = await startRig({
        style,
        payloadSchema: schema((value) => answer(() => (value === 'odd' ? bad : good))),
        effect: (work) => work.apply(),
      })
      await rig.deliver('a', { id: 'bad', payload: 'odd' }, 'b')
      await rig.clock.advance(1_000)
      expect(rig.world.effects.toSorted()).toEqual(['a', 'b'])
      expect(rig.started).not.toContain('bad')
      expect(rig.source.deadLetters).toMatchObject([
        { reason: 'schema', detail: 'to.0: expected text', parked: false, attempts: 0 },
      ])
      expect(rig.journal.filter((entry) => entry.startsWith('record'))).toEqual(['record given-up'])
    })

    it.each([
      ['throws', (): Answer => throwing()],
      ['answers nothing', (): Answer => undefined as unknown as Answer],
      [
        'answers issues without a shape',
        (): Answer => ({ issues: [{ message: 'x', path: [null as unknown as string] }] }),
      ],
    ])('is set aside when the schema %s', async (__, broken) => {
      const rig = await startRig({ style, payloadSchema: schema(() => answer(broken)), effect: (work) => work.apply() })
      await rig.deliver('a')
      expect(rig.source.deadLetters).toMatchObject([{ reason: 'schema' }])
      expect(rig.started).toEqual([])
    })
  })

  it('that cannot be decoded is set aside as such', async () => {
    const rig = await startRig({ style, effect: (work) => work.apply() })
    await rig.deliver({ id: 'a', bytes: Buffer.from('{') }, { id: 'b', bytes: Buffer.from([0xff]) }, 'c')
    await rig.clock.advance(1_000)
    expect(rig.source.deadLetters.map(({ reason }) => reason)).toEqual(['undecodable', 'undecodable'])
    expect(rig.world.effects).toEqual(['c'])
  })

  it('may be changed by its handler: the next attempt gets it anew', async () => {
    const seen: unknown[] = []
    const rig = await startRig({
      style,
      backoff: RETRY,
      effect: (work) => {
        const payload = work.payload as { items: number[] }
        seen.push([...payload.items])
        payload.items.push(2)
        if (work.attempt === 1) throw new Error('broken')
      },
    })
    await rig.deliver({ id: 'a', payload: { items: [1] } })
    await rig.clock.advance(100)
    expect(seen).toEqual([[1], [1]])
  })

  it('whose check takes longer than the lease is kept, and checked once', async () => {
    let checks = 0
    const checking = gate()
    const rig = await startRig({
      style,
      leaseMs: 3_000,
      payloadSchema: schema(async () => {
        checks++
        await checking.opened
        return { value: 1 }
      }),
      effect: (work) => work.apply(),
    })
    await rig.deliver('a')
    await rig.clock.advance(20_000)
    checking.open()
    await rig.clock.advance(0)
    expect(rig.outcomes()).toEqual(['handled'])
    expect(checks).toBe(1)
  })

  it('whose check never answers does not hold the others for ever', async () => {
    const rig = await startRig({
      style,
      concurrency: 1,
      transactions: 1,
      batchSize: 1,
      handlerTimeoutMs: 10_000,
      graceMs: 1_000,
      payloadSchema: schema((value) => (value === 'odd' ? new Promise(() => {}) : good)),
      effect: (work) => work.apply(),
    })
    await rig.deliver({ id: 'odd', payload: 'odd' }, 'b')
    await rig.clock.advance(12_000)
    expect(rig.world.effects).toEqual(['b'])
  })
})

describe('a batch on a lease', () => {
  it('stays one batch when its schema answers later', async () => {
    const sizes: number[] = []
    const world = new World()
    const rig = await startRig({
      world,
      style: { strategy: 'lease', handler: 'handleBatch' },
      payloadSchema: schema(async () => ({ value: 1 })),
      effect: (work) => work.apply(),
    })
    rig.store.onCall = ({ call, keys }) => {
      if (call === 'mark') sizes.push(keys.length)
    }
    await rig.deliver('a', 'b', 'c')
    expect(sizes).toEqual([3])
    expect(rig.started).toEqual(['a', 'b', 'c'])
  })
})

function throwing(): never {
  throw new Error('schema broken')
}

/** Looks like a promise and is none. */
function thenable(answer: () => Answer): Answer {
  const promise = Promise.resolve().then(answer)
  // oxlint-disable-next-line unicorn/no-thenable
  return { then: promise.then.bind(promise) } as unknown as Answer
}

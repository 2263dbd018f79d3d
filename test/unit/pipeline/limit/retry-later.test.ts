import { afterEach, describe, expect, it } from '@jest/globals'
import { defineConsumer, messageId, RetryLaterError, runInline, type ErrorCode } from '../../../../src/index.ts'
import { memoryStore } from '../../../../src/memory/store.ts'
import { ConsumeOnceError } from '../../../../src/foundation/errors.ts'
import type { Message } from '../../../../src/ports/message.ts'
import { ManualClock, turns } from '../../../kit/manual-clock.ts'
import { messageWith } from '../../../kit/message.ts'
import { endRigs, startRig, STYLES, World, type Rig, type RigOptions, type Work } from '../../../kit/rig.ts'

afterEach(endRigs)

/** `a7` belongs to `a`. */
function tenantOf({ headers }: Message): string {
  return String(headers['id']).charAt(0)
}

/** Asks for a later time so often for each of these messages. */
function later(times: number, afterMs: number, ids: readonly string[] = ['a']): RigOptions['effect'] {
  const left = new Map(ids.map((id) => [id, times]))
  return (work: Work) => {
    const more = left.get(work.id) ?? 0
    left.set(work.id, more - 1)
    if (more > 0) throw new RetryLaterError({ afterMs, message: 'HTTP 429' })
    return work.apply()
  }
}

function attempts(rig: Rig, id: string): number[] {
  return rig.events.flatMap((event) =>
    'message' in event &&
    event.message.headers['id'] === id &&
    (event.type === 'put-off' || event.type === 'attempt-failed')
      ? [event.attempt]
      : [],
  )
}

describe.each(STYLES)('a message whose handler asks for a later time ($strategy, $handler)', (style) => {
  it('runs again after it, in the same attempt [T355]', async () => {
    const rig = await startRig({ style, maxAttempts: 2, effect: later(3, 5_000) })
    await rig.deliver('a')
    expect(rig.started).toEqual(['a'])
    await rig.clock.advance(4_900)
    expect(rig.started).toEqual(['a'])
    await rig.clock.advance(200)
    expect(rig.started).toEqual(['a', 'a'])
    await rig.clock.advance(11_000)
    expect([rig.started.length, rig.outcomes(), rig.world.effects]).toEqual([4, ['handled'], ['a']])
    expect(attempts(rig, 'a')).toEqual([1, 1, 1])
    expect(rig.count('attempt-failed')).toBe(0)
    expect(rig.events.filter((event) => event.type === 'put-off')).toMatchObject([
      { times: 1, retryInMs: 5_000 },
      { times: 2, retryInMs: 5_000 },
      { times: 3, retryInMs: 5_000 },
    ])
  })

  it('spends an attempt each time once it was put off too often in a row, and waits as long [T356]', async () => {
    const rig = await startRig({ style, maxAttempts: 2, maxRetryLater: 2, effect: later(9, 1_000) })
    await rig.deliver('a')
    await rig.clock.advance(2_500)
    expect([rig.count('put-off'), rig.count('attempt-failed'), rig.started.length]).toEqual([2, 1, 3])
    expect(rig.source.deadLetters).toEqual([])
    await rig.clock.advance(2_000)
    expect(rig.source.deadLetters).toMatchObject([{ reason: 'attempts-spent', attempts: 2, detail: 'HTTP 429' }])
    expect(rig.started.length).toBe(4)
  })

  it('spends an attempt the first time with maxRetryLater: 0', async () => {
    const rig = await startRig({ style, maxAttempts: 2, maxRetryLater: 0, effect: later(1, 1_000) })
    await rig.deliver('a')
    await rig.clock.advance(2_000)
    expect([rig.count('put-off'), attempts(rig, 'a'), rig.outcomes()]).toEqual([0, [1], ['handled']])
  })

  it('may be put off as often again after an attempt that ended otherwise', async () => {
    let run = 0
    const rig = await startRig({
      style,
      maxRetryLater: 2,
      backoff: { initialMs: 100, maxMs: 100 },
      effect: (work) => {
        run++
        if (run === 3) throw new Error('broken')
        if (run < 6) throw new RetryLaterError({ afterMs: 100 })
        return work.apply()
      },
    })
    await rig.deliver('a')
    await rig.clock.advance(5_000)
    expect([rig.count('put-off'), rig.count('attempt-failed'), rig.outcomes()]).toEqual([4, 1, ['handled']])
  })

  it('holds back the key of its limit, and no other key', async () => {
    const rig = await startRig({
      style,
      batchSize: 1,
      limit: { perSecond: 10, burst: 1, by: tenantOf },
      effect: later(1, 30_000, ['a0']),
    })
    await rig.deliver('a0', 'a1', 'a2', 'b0', 'b1')
    await rig.clock.advance(1_000)
    expect(rig.started.toSorted()).toEqual(['a0', 'b0', 'b1'])
    expect(rig.running.health()).toMatchObject({
      ready: true,
      limited: 3,
      checks: {
        limit:
          '3 wait for the limit of 10 a second for each key; a key is held back as its provider asked, for another 29 s',
      },
    })
    await rig.clock.advance(30_000)
    expect(rig.world.effects.toSorted()).toEqual(['a0', 'a1', 'a2', 'b0', 'b1'])
  })

  it.each([
    ['as its provider asked', { afterMs: 2_000 }, ['a0', 'b0', 'a0']],
    // The permits of its key are free, so others take them until its time comes.
    ['until a time of its own', { at: new Date(1_700_000_002_500) }, ['a0', 'b0', 'a1', 'a2', 'a0']],
  ] as const)('is first of its key after it, %s', async (_, asked, first) => {
    const rig = await startRig({
      style,
      batchSize: 1,
      limit: { perSecond: 1, burst: 1, by: tenantOf },
      effect: (work) => {
        if (work.id === 'a0' && rig.started.filter((id) => id === 'a0').length === 1) throw new RetryLaterError(asked)
        return work.apply()
      },
    })
    await rig.deliver('a0', 'b0', ...Array.from({ length: 60 }, (_one, n) => `a${n + 1}`))
    await rig.clock.advance(4_000)
    expect(rig.started.slice(0, first.length)).toEqual(first)
  })

  it('is first of its key when a retry place gives it back', async () => {
    const rig = await startRig({
      style,
      batchSize: 1,
      limit: { perSecond: 1, burst: 1 },
      effect: later(1, 60_000, ['a0']),
    })
    Object.assign(rig.source, { retryDelayMs: () => 1_000, laneWaitMs: 10_000 })
    await rig.deliver('a0', ...Array.from({ length: 60 }, (_, n) => `a${n + 1}`))
    await rig.clock.advance(60_500)
    expect(rig.started).toEqual(['a0', 'a1'])
    rig.source.deliverCopy(rig.source.retries[0] as never)
    await rig.clock.advance(1_000)
    expect(rig.started).toEqual(['a0', 'a1', 'a0'])
  })

  it('is no stall, however long that is', async () => {
    const rig = await startRig({ style, effect: later(1, 3_600_000) })
    await rig.deliver({ id: 'a', lane: 'one' }, { id: 'b', lane: 'one' })
    for (let n = 0; n < 61; n++) await rig.clock.advance(60_000)
    expect([rig.count('stalled'), rig.outcomes()]).toEqual([0, ['handled', 'handled']])
    expect(rig.world.effects).toEqual(['a', 'b'])
  })

  it('is handed back by a stop, with its attempt', async () => {
    const world = new World()
    const rig = await startRig({ style, world, maxAttempts: 2, effect: later(1, 60_000) })
    await rig.deliver('a')
    await rig.running.stop()
    expect(rig.outcomes()).toEqual(['handed-back'])
    const next = await startRig({ style, world, maxAttempts: 2, effect: (work) => work.apply() })
    await next.deliver('a')
    await rig.clock.advance(61_000)
    expect(next.outcomes()).toEqual(['handled'])
  })

  it('goes to a retry place if it waits longer than it may in its lane, and its attempt stays', async () => {
    const rig = await startRig({ style, maxAttempts: 2, effect: later(2, 60_000) })
    Object.assign(rig.source, { retryDelayMs: () => 1_000, laneWaitMs: 10_000 })
    await rig.deliver('a')
    expect(rig.outcomes()).toEqual(['handed-back'])
    expect(rig.source.retries).toMatchObject([{ why: 'busy', attempts: 0, delayMs: 60_000 }])
    await rig.clock.advance(60_000)
    rig.source.deliverCopy(rig.source.retries[0] as never)
    await turns()
    expect(rig.events.filter((event) => event.type === 'put-off')).toMatchObject([{ times: 1 }, { times: 2 }])
  })

  it('asks for it also after its signal has aborted: it had no effect', async () => {
    const rig = await startRig({
      style,
      handlerTimeoutMs: 1_000,
      effect: async (work) => {
        if (rig.started.length > 1) return work.apply()
        await new Promise((resolve) => work.signal.addEventListener('abort', resolve))
        throw new RetryLaterError({ afterMs: 500 })
      },
    })
    await rig.deliver('a')
    await rig.clock.advance(5_000)
    expect([rig.count('in-doubt'), rig.count('put-off'), rig.outcomes()]).toEqual([0, 1, ['handled']])
  })

  it('by an error of another copy of the package waits too', async () => {
    class Foreign extends ConsumeOnceError {
      readonly code = 'RETRY_LATER' as ErrorCode
      readonly afterMs = 700
    }
    let run = 0
    const rig = await startRig({
      style,
      effect: (work) => {
        if (run++ === 0) throw new Foreign('429')
        return work.apply()
      },
    })
    await rig.deliver('a')
    await rig.clock.advance(800)
    expect(rig.events.filter((event) => event.type === 'put-off')).toMatchObject([{ retryInMs: 700 }])
    expect(rig.outcomes()).toEqual(['handled'])
  })
})

describe.each(STYLES)('a message whose time has not come ($strategy, $handler)', (style) => {
  it('waits for it alone: others of its key go on', async () => {
    const start = 1_700_000_000_000
    const rig = await startRig({
      style,
      batchSize: 1,
      limit: { perSecond: 100, burst: 10, by: tenantOf },
      effect: (work) => {
        if (work.id === 'a0' && rig.clock.now() < start + 60_000) {
          throw new RetryLaterError({ at: new Date(start + 60_000) })
        }
        return work.apply()
      },
    })
    await rig.deliver('a0', 'a1')
    await rig.clock.advance(1_000)
    expect(rig.world.effects).toEqual(['a1'])
    expect(rig.events.filter((event) => event.type === 'put-off')).toMatchObject([{ retryInMs: 60_000 }])
    await rig.clock.advance(60_000)
    expect(rig.world.effects).toEqual(['a1', 'a0'])
  })

  it('runs again at once if its time is past', async () => {
    let run = 0
    const rig = await startRig({
      style,
      effect: (work) => {
        if (run++ === 0) throw new RetryLaterError({ at: new Date(0) })
        return work.apply()
      },
    })
    await rig.deliver('a')
    await rig.clock.advance(10)
    expect(rig.outcomes()).toEqual(['handled'])
  })
})

describe('ctx.retryAt', () => {
  it('ends the handler by a RetryLaterError with that time', async () => {
    const clock = new ManualClock()
    const runs: number[] = []
    const inline = runInline(
      defineConsumer({
        name: 'later',
        id: messageId.header('id'),
        store: memoryStore({ clock }),
        handle: ({ retryAt, attempt }) => {
          runs.push(attempt)
          if (runs.length === 1) retryAt(new Date(clock.now() + 5_000))
        },
      }),
      { group: 'g', clock },
    )
    const handled = inline.handle(messageWith({ headers: { id: 'a' } }))
    await clock.advance(5_100)
    expect((await handled).outcome).toBe('handled')
    expect(runs).toEqual([1, 1])
    await inline.stop()
  })
})

describe('messages of one transaction', () => {
  it('commit without the one that asked for a later time', async () => {
    const rig = await startRig({
      style: { strategy: 'inbox', handler: 'handle' },
      shares: true,
      effect: later(1, 5_000, ['b']),
    })
    await rig.deliver('a', 'b', 'c')
    expect(rig.world.effects.toSorted()).toEqual(['a', 'c'])
    await rig.clock.advance(5_100)
    expect(rig.world.effects.toSorted()).toEqual(['a', 'b', 'c'])
    expect([rig.count('put-off'), rig.count('attempt-failed')]).toEqual([1, 0])
  })
})

describe('a limit of an inbox', () => {
  it('counts also what runs once more without the message that failed', async () => {
    let isFirst = true
    const rig = await startRig({
      style: { strategy: 'inbox', handler: 'handle' },
      transactions: 1,
      limit: { perSecond: 10, burst: 4 },
      effect: (work) => {
        if (work.id === 'c' && isFirst) {
          isFirst = false
          throw new Error('broken')
        }
        return work.apply()
      },
    })
    // Its transactions learn that its handlers are quick.
    for (const warm of [1, 2, 4]) {
      await rig.deliver(...Array.from({ length: warm }, (_, n) => `warm${warm}-${n}`))
      await rig.clock.advance(2_000)
    }
    rig.started.length = 0
    await rig.deliver('a', 'b', 'c', ...Array.from({ length: 20 }, (_, n) => `d${n}`))
    await rig.clock.advance(1_000)
    // a and b ran twice.
    expect(rig.started.filter((id) => id === 'a' || id === 'b').length).toBe(4)
    expect(rig.started.length).toBeLessThanOrEqual(4 + 10 + 1)
    await rig.clock.advance(5_000)
    expect(rig.world.effects.length).toBe(7 + 23)
  })
})

describe('RetryLaterError', () => {
  it.each<[object, RegExp]>([
    [
      { afterMs: Number.NaN },
      /afterMs: expected milliseconds from 0 to 2147483647 .*got NaN: a Retry-After header has seconds or a date/,
    ],
    [{ afterMs: -1 }, /afterMs: .*got -1/],
    [{ afterMs: 2 ** 31 }, /afterMs: /],
    [{ afterMs: '30' }, /afterMs: /],
    [{}, /afterMs, at: expected exactly one of the two/],
    [{ at: new Date(Number.NaN) }, /at: expected a valid Date/],
    [{ afterMs: 1, at: new Date() }, /afterMs, at: expected exactly one of the two/],
    [{ afterMs: 1, after: 2 }, /after: it is called afterMs/],
  ])('refuses %p', (options, problem) => {
    expect(() => new RetryLaterError(options as never)).toThrow(problem)
  })

  it('rounds up, and keeps its message and its cause', () => {
    const cause = new Error('429')
    const error = new RetryLaterError({ afterMs: 1.2, message: 'SMS gateway', cause })
    expect(error).toMatchObject({
      afterMs: 2,
      message: 'SMS gateway',
      cause,
      code: 'RETRY_LATER',
      name: 'RetryLaterError',
    })
  })
})

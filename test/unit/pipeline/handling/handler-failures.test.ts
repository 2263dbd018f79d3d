import { afterEach, describe, expect, it } from '@jest/globals'
import { NoEffectError, TerminalError } from '../../../../src/foundation/errors.ts'
import { endRigs, startRig, STYLES } from '../../../kit/rig.ts'

afterEach(endRigs)

const RETRY = { initialMs: 100, maxMs: 100 }

describe.each(STYLES)('a handler that fails ($strategy, $handler)', (style) => {
  const failures: readonly (readonly [string, () => unknown])[] = [
    ['rejects with an error', () => Promise.reject(new Error('broken'))],
    ['throws at once', fail],
    ['throws a TypeError', () => (undefined as unknown as { field: string }).field],
    ['throws text', () => Promise.reject('broken')],
    ['throws nothing at all', () => Promise.reject(undefined)],
    ['throws what has no text', () => Promise.reject(Object.create(null))],
    ['says that nothing happened', () => Promise.reject(new NoEffectError('nothing'))],
  ]

  it.each(failures)('is tried again after a pause, and settled once when it succeeds: it %s', async (_, failing) => {
    const rig = await startRig({
      style,
      backoff: RETRY,
      effect: (work) => (work.attempt === 1 ? failing() : work.apply()),
    })
    const [delivery] = await rig.deliver('a')
    expect(rig.started).toEqual(['a'])
    expect(delivery?.settled).toBe(0)
    await rig.clock.advance(100)
    expect(rig.world.effects).toEqual(['a'])
    expect(delivery?.settled).toBe(1)
    expect(rig.events.filter(({ type }) => type === 'attempt-failed')).toMatchObject([{ attempt: 1, retryInMs: 75 }])
  })

  it('is written down as given up, then dead-lettered, then settled, when its attempts are spent', async () => {
    const rig = await startRig({ style, backoff: RETRY, maxAttempts: 3, effect: fail })
    const [delivery] = await rig.deliver({ id: 'a', payload: 1 })
    await rig.clock.advance(500)
    expect(rig.started.length).toBe(rig.started.filter((id) => id === 'a').length)
    expect(rig.journal).toEqual(['record given-up', 'dead letter attempts-spent', 'settle'])
    expect(rig.source.deadLetters).toMatchObject([
      { reason: 'attempts-spent', parked: false, attempts: 3, errorClass: 'Error', detail: 'broken', group: 'group' },
    ])
    expect(delivery?.settled).toBe(1)
    expect(rig.outcomes()).toEqual(['dead-lettered'])
  })

  it('is started as often as it has attempts, and not once more', async () => {
    const rig = await startRig({ style, backoff: RETRY, maxAttempts: 3, effect: fail })
    await rig.deliver('a')
    await rig.clock.advance(5_000)
    expect(rig.started).toEqual(['a', 'a', 'a'])
  })

  it('is dead-lettered with the time of its first failure', async () => {
    const rig = await startRig({ style, backoff: RETRY, maxAttempts: 3, effect: fail })
    await rig.clock.advance(70)
    const firstFailureAt = rig.clock.now()
    await rig.deliver('a')
    await rig.clock.advance(500)
    expect(rig.source.deadLetters).toMatchObject([{ attempts: 3, firstFailureAt }])
  })

  it('is dead-lettered at once when no attempt can help', async () => {
    const rig = await startRig({
      style,
      effect: () => Promise.reject(new TerminalError('unknown tariff')),
    })
    await rig.deliver('a')
    expect(rig.started).toEqual(['a'])
    expect(rig.journal).toEqual(['record given-up', 'dead letter handler-failed', 'settle'])
    expect(rig.source.deadLetters).toMatchObject([{ errorClass: 'TerminalError', detail: 'unknown tariff' }])
  })

  it('holds only its own lane while it waits', async () => {
    const rig = await startRig({
      style,
      backoff: RETRY,
      effect: (work) => (work.id === 'a1' && work.attempt === 1 ? fail() : work.apply()),
    })
    await rig.deliver({ id: 'a1', lane: 'a' })
    await rig.deliver({ id: 'a2', lane: 'a' }, { id: 'b1', lane: 'b' }, 'none')
    expect(rig.world.effects).toEqual(['b1', 'none'])
    await rig.clock.advance(100)
    expect(rig.world.effects).toEqual(['b1', 'none', 'a1', 'a2'])
  })

  it('dead-letters a thrown value without a text', async () => {
    const rig = await startRig({ style, maxAttempts: 1, effect: () => Promise.reject(Object.create(null)) })
    await rig.deliver('a')
    expect(rig.outcomes()).toEqual(['dead-lettered'])
    expect(rig.source.deadLetters).toMatchObject([{ errorClass: 'object', detail: 'a thrown object that has no text' }])
  })
})

describe.each(STYLES.filter(({ handler }) => handler === 'handleBatch'))('a batch that fails ($strategy)', (style) => {
  it('is run again one by one in the same attempt: the innocent end well', async () => {
    const attempts: string[] = []
    const rig = await startRig({
      style,
      backoff: RETRY,
      maxAttempts: 2,
      effect: (work) => {
        attempts.push(`${work.id}${work.attempt}`)
        return work.id === 'bad' ? fail() : work.apply()
      },
    })
    await rig.deliver('a', 'bad', 'b')
    expect(attempts.slice(0, 2)).toEqual(['a1', 'bad1'])
    expect(attempts.slice(2).toSorted()).toEqual(['a1', 'b1', 'bad1'])
    await rig.clock.advance(200)
    expect(attempts.at(-1)).toBe('bad2')
    expect(rig.outcomes().toSorted()).toEqual(['dead-lettered', 'handled', 'handled'])
    expect(rig.source.deadLetters).toMatchObject([{ attempts: 2, message: { headers: { id: 'bad' } } }])
  })
})

function fail(): never {
  throw new Error('broken')
}

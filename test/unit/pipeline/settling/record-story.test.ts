import { afterEach, describe, expect, it } from '@jest/globals'
import { OutcomeUnknownError, TerminalError } from '../../../../src/foundation/errors.ts'
import { turns } from '../../../kit/manual-clock.ts'
import { endRigs, gate, startRig, World } from '../../../kit/rig.ts'

afterEach(endRigs)

/** A step of 2 s; the jitter of the rig makes it 1.5 s. */
const RETRY = { initialMs: 2_000, maxMs: 2_000 }
const BACKOFF_MS = 1_500

describe('a copy of a message that failed', () => {
  it('waits for the end of the backoff too, in whatever process, and its attempts are no sooner spent', async () => {
    const world = new World()
    const startedAt: number[] = []
    const effect = (): never => {
      startedAt.push(world.clock.monotonic())
      throw new Error('broken')
    }
    const [one, other] = [
      await startRig({ world, backoff: RETRY, maxAttempts: 3, effect }),
      await startRig({ world, backoff: RETRY, maxAttempts: 3, effect }),
    ]
    await one.deliver('a')
    await other.deliver('a')
    await world.clock.advance(10_000)
    expect(startedAt).toHaveLength(3)
    for (const [at, time] of startedAt.entries()) expect(time).toBeGreaterThanOrEqual(at * BACKOFF_MS)
    // The process that failed tries again in time: it does not wait for a jitter of its own.
    expect(startedAt.at(-1)).toBeLessThan(2 * BACKOFF_MS + 250)
    expect([...one.outcomes(), ...other.outcomes()]).toEqual(['dead-lettered', 'dead-lettered'])
  })

  it('runs at once after a refund: a handler that a stop has interrupted keeps nobody waiting', async () => {
    const world = new World()
    const held = gate()
    const one = await startRig({
      world,
      backoff: RETRY,
      effect: ({ signal }) => held.opened.then(() => signal.throwIfAborted()),
    })
    await one.deliver('a')
    const stopping = one.running.stop({ deadlineMs: 10 })
    await world.clock.advance(10)
    held.open()
    await stopping
    const other = await startRig({ world, onInDoubt: 'rerun', effect: (work) => work.apply() })
    await other.deliver('a')
    await world.clock.advance(0)
    expect(world.effects).toEqual(['a'])
  })

  it('waits after an outcome that nobody knows, too', async () => {
    const world = new World()
    const one = await startRig({
      world,
      backoff: RETRY,
      onInDoubt: 'rerun',
      effect: () => Promise.reject(new OutcomeUnknownError('no answer')),
    })
    await one.deliver('a')
    const other = await startRig({ world, onInDoubt: 'rerun', effect: (work) => work.apply() })
    await one.running.stop()
    await other.deliver('a')
    await world.clock.advance(BACKOFF_MS - 1)
    expect(world.effects).toEqual([])
    await world.clock.advance(250)
    expect(world.effects).toEqual(['a'])
  })
})

describe('whoever meets what was set aside', () => {
  it('publishes the dead letter that a process did not live to publish, with cause, attempts and time', async () => {
    const world = new World()
    const dying = await startRig({
      world,
      maxAttempts: 2,
      backoff: RETRY,
      effect: () => Promise.reject(new TypeError('no field x')),
    })
    dying.source.publishFailures = Number.POSITIVE_INFINITY
    await dying.deliver('a')
    await world.clock.advance(BACKOFF_MS)
    expect(dying.journal).toContain('record given-up')
    const setAsideAt = world.clock.now()
    const stopping = dying.running.stop({ deadlineMs: 0 })
    await world.clock.advance(60_000)
    await stopping
    const next = await startRig({ world, effect: (work) => work.apply() })
    await next.deliver('a')
    expect(next.source.deadLetters).toMatchObject([
      {
        reason: 'attempts-spent',
        parked: false,
        detail: 'no field x',
        errorClass: 'TypeError',
        attempts: 2,
        setAsideAt,
      },
    ])
  })

  it('publishes the same dead letter each time', async () => {
    const rig = await startRig({
      effect: () => Promise.reject(new TerminalError('cannot read field of o-0 (attempt 3)')),
    })
    await rig.deliver('a')
    await rig.clock.advance(5_000)
    await rig.deliver('a')
    await rig.deliver('a')
    const [first, ...others] = rig.source.deadLetters
    const said = {
      reason: first?.reason,
      detail: first?.detail,
      errorClass: first?.errorClass,
      attempts: first?.attempts,
    }
    expect(said).toMatchObject({ reason: 'handler-failed', errorClass: 'TerminalError', attempts: 1 })
    expect(others).toHaveLength(2)
    for (const deadLetter of others) expect(deadLetter).toMatchObject({ ...said, setAsideAt: first?.setAsideAt })
  })

  it('keeps nothing of the message in the record', async () => {
    const rig = await startRig({ effect: () => Promise.reject(new TerminalError('no such card: 4111111111111111')) })
    const [delivery] = await rig.deliver({ id: 'a', payload: { card: '4111111111111111' } })
    expect(delivery?.settled).toBe(1)
    const kept = JSON.stringify([...rig.world.records.values()])
    expect(kept).toContain('no such card')
    expect(kept).not.toContain('4111')
  })
})

describe('a record that the store cannot read', () => {
  it('concerns its own message alone: a dead letter tells which key, it is settled, and all others are handled', async () => {
    const rig = await startRig({ effect: (work) => work.apply() })
    const held = await startRig({ world: rig.world, effect: () => new Promise(() => {}) })
    await held.deliver('bad')
    const [key] = rig.world.records.keys()
    if (key === undefined) throw new Error('no record')
    const record = { state: 'unreadable', found: `${key}: a list, where a string was expected` } as const
    rig.world.records.set(key, record)
    const [before, bad, after] = await rig.deliver('before', 'bad', 'after')
    await turns()
    expect(rig.world.effects).toEqual(['before', 'after'])
    expect([before?.settled, bad?.settled, after?.settled]).toEqual([1, 1, 1])
    expect(rig.source.deadLetters).toMatchObject([{ reason: 'record-unreadable', parked: true, detail: record.found }])
    expect(rig.world.records.get(key)).toBe(record)
    expect(rig.count('store-down')).toBe(0)
  })
})

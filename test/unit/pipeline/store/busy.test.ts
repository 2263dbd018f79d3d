import { afterEach, describe, expect, it } from '@jest/globals'
import { turns } from '../../../kit/manual-clock.ts'
import { endRigs, gate, Rig, startRig, STYLES, World, type RigOptions, type Style } from '../../../kit/rig.ts'

afterEach(endRigs)

const WAIT_MS = 2_500

interface Contended {
  /** The other owner. */
  readonly first: Rig
  readonly rig: Rig
  /** Lets the other owner's handler end. */
  readonly finish: () => void
}

/** A rig that finds `a` in the hands of another one, for as long as the test wants. */
async function contend(style: Style, busyWaitMs: number | 'for ever' = WAIT_MS): Promise<Contended> {
  const world = new World()
  const held = gate()
  const first = await startRig({ style, world, effect: (work) => held.opened.then(work.apply) })
  const rig = await startRig({ style, world, effect: (work) => work.apply() })
  if (busyWaitMs !== 'for ever') rig.source.busyWaitMs = busyWaitMs
  await first.deliver('a')
  return { first, rig, finish: () => held.open() }
}

async function failAfter({ opened }: { readonly opened: Promise<void> }): Promise<never> {
  await opened
  throw new Error('broken')
}

describe.each(STYLES)('a message that another owner stays busy with ($strategy, $handler)', (style) => {
  it('leaves its lane for a retry place when it has waited long enough: copied, settled, handed back', async () => {
    const { rig } = await contend(style)
    const [busy, next] = await rig.deliver({ id: 'a', lane: 'l' }, { id: 'b', lane: 'l' })
    await rig.clock.advance(WAIT_MS - 1)
    expect([rig.source.retries, rig.outcomes()]).toEqual([[], []])
    await rig.clock.advance(1)
    expect(rig.source.retries).toEqual([
      expect.objectContaining({
        message: busy?.message,
        why: 'busy',
        attempts: 0,
        detail: '',
        errorClass: undefined,
        firstFailureAt: undefined,
        consumer: 'consumer',
        group: 'group',
      }),
    ])
    expect([busy?.settled, busy?.handBacks, next?.settled]).toEqual([1, 0, 1])
    expect(rig.outcomes()).toEqual(['handed-back', 'handled'])
    expect(rig.events).toContainEqual(expect.objectContaining({ outcome: 'handed-back', copied: true }))
    expect(rig.count('attempt-failed')).toBe(0)
    expect(rig.journal.slice(0, 2)).toEqual(['retry copy 0', 'settle'])
  })

  it('is a duplicate when its copy comes back after the other owner has marked it', async () => {
    const { rig, finish } = await contend(style)
    await rig.deliver('a')
    await rig.clock.advance(WAIT_MS)
    finish()
    await turns()
    const [deadLetter] = rig.source.retries
    if (deadLetter === undefined) throw new Error('no copy')
    rig.source.deliverCopy(deadLetter)
    await turns()
    expect(rig.outcomes()).toEqual(['handed-back', 'duplicate'])
    expect(rig.world.effects).toEqual(['a'])
  })

  it('spends no attempt: the copy of what the other owner failed at is handled', async () => {
    const world = new World()
    const held = gate()
    const first = await startRig({ style, world, maxAttempts: 2, effect: () => failAfter(held) })
    const attempts: number[] = []
    const rig = await startRig({
      style,
      world,
      maxAttempts: 2,
      effect: (work) => {
        attempts.push(work.attempt)
        return work.apply()
      },
    })
    rig.source.busyWaitMs = WAIT_MS
    await first.deliver('a')
    await rig.deliver('a')
    await rig.clock.advance(WAIT_MS)
    held.open()
    await turns()
    await first.running.stop()
    const [deadLetter] = rig.source.retries
    if (deadLetter === undefined) throw new Error('no copy')
    rig.source.deliverCopy(deadLetter)
    await rig.clock.advance(1_000)
    expect([attempts, world.effects]).toEqual([[2], ['a']])
  })

  it('leaves at once where it is not to wait', async () => {
    const { rig } = await contend(style, 0)
    await rig.deliver('a')
    expect(rig.outcomes()).toEqual(['handed-back'])
  })

  it('is not settled until its copy is confirmed, however often that takes', async () => {
    const { rig } = await contend(style)
    rig.source.publishFailures = 2
    const [delivery] = await rig.deliver('a')
    await rig.clock.advance(WAIT_MS)
    expect([delivery?.settled, rig.outcomes()]).toEqual([0, []])
    await rig.clock.advance(2_000)
    expect(rig.events.filter(({ type }) => type === 'publish-failed')).toEqual([
      expect.objectContaining({ place: 'retry' }),
      expect.objectContaining({ place: 'retry' }),
    ])
    expect([delivery?.settled, rig.outcomes()]).toEqual([1, ['handed-back']])
  })

  it('waits anew when another owner is busy with it once more, after it had come free', async () => {
    const world = new World()
    const [once, again] = [gate(), gate()]
    // Two owners, one after the other; in between it fails here.
    const first = await startRig({ style, world, effect: () => failAfter(once) })
    const rig = await startRig({
      style,
      world,
      backoff: { initialMs: 4_000, maxMs: 4_000 },
      effect: () => Promise.reject(new Error('broken')),
    })
    rig.source.busyWaitMs = WAIT_MS
    await first.deliver('a')
    await rig.deliver('a')
    await rig.clock.advance(WAIT_MS - 1_000)
    once.open()
    await turns()
    await first.running.stop()
    await rig.clock.advance(1_100)
    expect(rig.started).toEqual(['a'])
    const third = await startRig({ style, world, effect: () => failAfter(again) })
    // Its backoff is over, and this process has not noticed yet.
    rig.clock.skip(3_000)
    await third.deliver('a')
    expect(third.started).toEqual(['a'])
    await rig.clock.advance(1_000)
    expect([rig.source.retries, rig.outcomes()]).toEqual([[], []])
    await rig.clock.advance(WAIT_MS)
    expect(rig.outcomes()).toEqual(['handed-back'])
    expect(rig.source.retries).toEqual([expect.objectContaining({ why: 'busy', attempts: 0 })])
  })

  it('does not swallow its own copy, though that comes before the confirmation', async () => {
    const { rig, finish } = await contend(style)
    const confirming = gate()
    rig.source.publishHeld = confirming.opened
    const [original] = await rig.deliver('a')
    if (original === undefined) throw new Error('nothing was delivered')
    const [again] = rig.source.redeliver(original)
    await rig.clock.advance(WAIT_MS)
    const [early] = rig.source.deliverCopy(original)
    finish()
    await turns()
    expect(rig.outcomes()).toEqual([])
    confirming.open()
    await turns()
    expect([original.settled, again?.settled, early?.settled]).toEqual([1, 1, 1])
    expect(rig.outcomes()).toEqual(['handed-back', 'joined', 'duplicate'])
  })

  it('is neither copied nor settled when it is not ours any more', async () => {
    const { rig } = await contend(style)
    const deliveries = await rig.deliver('a')
    const answering = gate()
    await rig.clock.advance(WAIT_MS - 1)
    rig.store.script('claim', answering.opened)
    await rig.clock.advance(1)
    rig.source.stand('stale', ...deliveries)
    answering.open()
    await turns()
    expect(rig.source.retries).toEqual([])
    expect(rig.outcomes()).toEqual(['handed-back'])
    expect(rig.events).not.toContainEqual(expect.objectContaining({ copied: true }))
  })

  it('is handed back without a copy by a stop', async () => {
    const { rig } = await contend(style)
    const [delivery] = await rig.deliver('a')
    const answering = gate()
    await rig.clock.advance(WAIT_MS - 1)
    rig.store.script('claim', answering.opened)
    await rig.clock.advance(1)
    const stopping = rig.running.stop()
    answering.open()
    await stopping
    expect(rig.source.retries).toEqual([])
    expect([delivery?.settled, delivery?.handBacks, rig.outcomes()]).toEqual([0, 1, ['handed-back']])
  })

  it('is handed back by a stop that the place does not outlast', async () => {
    const { rig } = await contend(style)
    rig.source.publishHeld = gate().opened
    const [delivery] = await rig.deliver('a')
    await rig.clock.advance(WAIT_MS)
    const stopping = rig.running.stop({ deadlineMs: 1_000 })
    await rig.clock.advance(10_000)
    await stopping
    expect([delivery?.settled, delivery?.handBacks, rig.outcomes()]).toEqual([0, 1, ['handed-back']])
  })

  it('tells a refused settle for what it is', async () => {
    const { rig } = await contend(style)
    const confirming = gate()
    rig.source.publishHeld = confirming.opened
    const deliveries = await rig.deliver('a')
    await rig.clock.advance(WAIT_MS)
    rig.source.stand('stale', ...deliveries)
    confirming.open()
    await turns()
    expect(rig.events).toContainEqual(
      expect.objectContaining({ outcome: 'settle-refused', refused: 'handed-back', copied: true }),
    )
  })

  it('waits in its lane for as long as it takes where no place is for it', async () => {
    const { rig, finish } = await contend(style, 'for ever')
    await rig.deliver('a')
    await rig.clock.advance(20_000)
    expect([rig.source.retries, rig.outcomes()]).toEqual([[], []])
    finish()
    await rig.clock.advance(1_100)
    expect(rig.outcomes()).toEqual(['duplicate'])
  })
})

describe('the copy of a message that another owner is busy with', () => {
  it('is delayed until the lease of that owner may be over', async () => {
    const { rig } = await contend({ strategy: 'lease', handler: 'handle' })
    await rig.deliver('a')
    await rig.clock.advance(WAIT_MS)
    // The lease of 30 s was not renewed yet; jitter of half of 100 ms.
    expect(rig.source.retries).toEqual([expect.objectContaining({ delayMs: 30_000 - WAIT_MS + 50 })])
  })
})

/** The same, on a source with retry places, whose consumer says itself what is to happen. */
async function contendWith(style: Style, whenBusy: RigOptions['whenBusy']): Promise<Contended> {
  const world = new World()
  const held = gate()
  const first = await startRig({ style, world, effect: (work) => held.opened.then(work.apply) })
  const rig = new Rig(world, style)
  rig.source.retryDelayMs = () => 1_000
  await rig.start({ style, effect: (work) => work.apply(), ...(whenBusy && { whenBusy }) })
  await first.deliver('a')
  return { first, rig, finish: () => held.open() }
}

describe.each(STYLES)('the option whenBusy ($strategy, $handler)', (style) => {
  it('hands a busy message back at once, and the message behind it runs', async () => {
    const { rig, finish } = await contendWith(style, 'hand-back')
    await rig.deliver({ id: 'a', lane: 'l' }, { id: 'b', lane: 'l' })
    expect(rig.outcomes()).toEqual(['handed-back', 'handled'])
    const [letter] = rig.source.retries
    if (letter === undefined) throw new Error('no copy')
    expect(letter).toMatchObject({ why: 'busy', attempts: 0 })
    finish()
    await turns()
    rig.source.deliverCopy(letter)
    await turns()
    expect([rig.outcomes().at(-1), rig.world.effects.toSorted()]).toEqual(['duplicate', ['a', 'b']])
  })

  it('hands a busy message back once it has waited as long as the consumer says', async () => {
    const { rig } = await contendWith(style, { waitMs: 700 })
    await rig.deliver('a')
    await rig.clock.advance(699)
    expect(rig.outcomes()).toEqual([])
    await rig.clock.advance(1)
    expect(rig.outcomes()).toEqual(['handed-back'])
  })

  it.each(['wait', undefined] as const)(
    'keeps a busy message in its lane with %j, whatever place there is',
    async (whenBusy) => {
      const { rig, finish } = await contendWith(style, whenBusy)
      if (whenBusy === 'wait') rig.source.busyWaitMs = 100
      await rig.deliver({ id: 'a', lane: 'l' }, { id: 'b', lane: 'l' })
      await rig.clock.advance(20_000)
      expect([rig.outcomes(), rig.source.retries]).toEqual([[], []])
      finish()
      await rig.clock.advance(1_100)
      expect(rig.outcomes()).toEqual(['duplicate', 'handled'])
    },
  )

  it.each(['hand-back', { waitMs: 5 }] as const)(
    'refuses to start with %j where a message has no retry place',
    async (whenBusy) => {
      await expect(startRig({ style, whenBusy, effect: () => {} })).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining("whenBusy: expected 'wait' where messages have no retry place, got"),
      })
    },
  )
})

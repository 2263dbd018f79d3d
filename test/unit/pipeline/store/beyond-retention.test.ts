import { afterEach, describe, expect, it } from '@jest/globals'
import type { ObserverEvent } from '../../../../src/index.ts'
import { endRigs, startRig, STYLES, type Rig, type RigOptions } from '../../../kit/rig.ts'
import { turns } from '../../../kit/manual-clock.ts'

afterEach(endRigs)

const RETENTION_MS = 1_000_000
/** The manual clock begins with it. */
const NOW = 1_700_000_000_000
const OLD = NOW - RETENTION_MS - 1
const YOUNG = NOW - RETENTION_MS + 60_000

type Policy = NonNullable<RigOptions['onBeyondRetention']>

function start(options: Partial<RigOptions>, onBeyondRetention?: Policy): Promise<Rig> {
  return startRig({
    effect: ({ apply }) => apply(),
    retentionMs: RETENTION_MS,
    ...(onBeyondRetention === undefined ? {} : { onBeyondRetention }),
    ...options,
  })
}

function told(rig: Rig): readonly (readonly [string, string])[] {
  return rig.events.flatMap((event) =>
    event.type === 'beyond-retention' ? [[event.policy, idOf(event)] as const] : [],
  )
}

function idOf({ message }: Pick<Extract<ObserverEvent, { type: 'delivery' }>, 'message'>): string {
  return String(message.headers['id'])
}

function ends(rig: Rig): readonly string[] {
  return rig.events.flatMap((event) =>
    event.type === 'delivery' ? [`${idOf(event)} ${event.outcome} ${event.reason ?? ''}`.trim()] : [],
  )
}

describe.each(STYLES)('beyond retention, with $strategy and $handler,', (style) => {
  it('a message runs, and is counted, if nothing else is said', async () => {
    const rig = await start({ style })
    await rig.deliver({ id: 'old', timestamp: OLD }, { id: 'young', timestamp: YOUNG }, { id: 'timeless' })
    expect(told(rig)).toEqual([['run', 'old']])
    expect(rig.world.effects.toSorted()).toEqual(['old', 'timeless', 'young'])
  })

  it('a message is parked for a person, with its reason', async () => {
    const rig = await start({ style }, 'park')
    await rig.deliver({ id: 'old', timestamp: OLD }, { id: 'young', timestamp: YOUNG }, { id: 'timeless' })
    expect(told(rig)).toEqual([['park', 'old']])
    expect(ends(rig).toSorted()).toEqual(['old parked beyond-retention', 'timeless handled', 'young handled'])
    expect(rig.world.effects.toSorted()).toEqual(['timeless', 'young'])
    expect(rig.source.deadLetters).toMatchObject([{ reason: 'beyond-retention', parked: true, attempts: 0 }])
    expect(rig.journal.indexOf('record parked')).toBeLessThan(rig.journal.indexOf('dead letter beyond-retention'))
  })

  it('a message is skipped: marked, then settled as a duplicate', async () => {
    const rig = await start({ style }, 'skip')
    await rig.deliver({ id: 'old', timestamp: OLD }, { id: 'young', timestamp: YOUNG }, { id: 'timeless' })
    expect(told(rig)).toEqual([['skip', 'old']])
    expect(ends(rig).toSorted()).toEqual(['old duplicate beyond-retention', 'timeless handled', 'young handled'])
    expect(rig.started.toSorted()).toEqual(['timeless', 'young'])
    await rig.deliver({ id: 'old', timestamp: OLD })
    expect(ends(rig)).toContain('old duplicate')
    expect(told(rig)).toHaveLength(1)
  })

  it('many are skipped in few calls', async () => {
    const rig = await start({ style, shares: true }, 'skip')
    await rig.deliver(...Array.from({ length: 50 }, (_, at) => ({ id: `old-${at}`, timestamp: OLD })))
    expect(rig.outcomes()).toEqual(Array.from({ length: 50 }, () => 'duplicate'))
    expect(rig.store.calls('mark').length).toBeLessThanOrEqual(4)
    expect(rig.started).toEqual([])
  })

  it('a skip is settled only when its mark is durable', async () => {
    const rig = await start({ style }, 'skip')
    rig.store.script('mark', 'lose-request')
    const [delivery] = await rig.deliver({ id: 'old', timestamp: OLD })
    expect(delivery?.settled).toBe(0)
    await rig.clock.advance(1_000)
    expect(delivery?.settled).toBe(1)
    expect(rig.journal).toEqual(['mark marked', 'settle'])
  })

  it('a message without a usable timestamp runs', async () => {
    const rig = await start({ style }, 'park')
    await rig.deliver({ id: 'a', timestamp: 0 }, { id: 'b', timestamp: -1 })
    expect(rig.outcomes()).toEqual(['handled', 'handled'])
  })

  it('what is done is a duplicate, and what was tried goes on, however old', async () => {
    let fails = 2
    const rig = await start(
      {
        style,
        backoff: { initialMs: 100, maxMs: 100 },
        effect: async ({ apply, id }) => {
          if (id === 'failing' && fails-- > 0) throw new Error('not now')
          await apply()
        },
      },
      'park',
    )
    const young = { id: 'failing', timestamp: YOUNG }
    await rig.deliver(young, { id: 'done', timestamp: YOUNG })
    await rig.clock.advance(RETENTION_MS / 2)
    await turns()
    expect(rig.world.effects.toSorted()).toEqual(['done', 'failing'])
    await rig.deliver(young, { id: 'done', timestamp: YOUNG })
    expect(rig.outcomes().slice(2)).toEqual(['duplicate', 'duplicate'])
    expect(told(rig)).toEqual([])
  })

  it('the order of a lane is kept', async () => {
    const rig = await start({ style }, 'park')
    const lane = 'one'
    await rig.deliver({ id: 'a', lane }, { id: 'old', lane, timestamp: OLD }, { id: 'b', lane })
    await turns()
    expect(rig.world.effects).toEqual(['a', 'b'])
    expect(ends(rig)).toContain('old parked beyond-retention')
  })
})

describe('beyond retention, by skip, in a transaction with one that fails,', () => {
  it('nothing is lost of either', async () => {
    const rig = await start(
      {
        style: { strategy: 'inbox', handler: 'handle' },
        backoff: { initialMs: 100, maxMs: 100 },
        effect: async ({ apply, attempt }) => {
          await apply()
          if (attempt === 1) throw new Error('not now')
        },
      },
      'skip',
    )
    await rig.deliver({ id: 'old', timestamp: OLD }, { id: 'failing', timestamp: YOUNG })
    await rig.clock.advance(5_000)
    expect(ends(rig).toSorted()).toEqual(['failing handled', 'old duplicate beyond-retention'])
    expect(rig.world.effects).toEqual(['failing'])
    expect(told(rig)).toHaveLength(1)
  })
})

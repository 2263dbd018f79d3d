import { describe, expect, it } from '@jest/globals'
import { CONTENDERS, type Contender } from '../../../site/proof/engine/contenders.ts'
import { judgedOutcome, outcomeOf } from '../../../site/proof/engine/outcome.ts'
import { play, type Played } from '../../../site/proof/engine/play.ts'
import { faultText } from '../../../site/proof/page/fault-text.ts'
import { FIRST, fromLink, linkTo, MOST_FAULTS } from '../../../site/proof/page/link.ts'
import { stepsOf, type Step } from '../../../site/proof/page/scene.ts'
import { check } from '../../../testing/index.ts'
import type { Intervention } from '../../../testing/sim/interventions.ts'

const SEEDS = Array.from({ length: 8 }, (_, index) => index + 1)
const LIBRARY = ['lease', 'lease-park', 'inbox'] as const

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

/** Only these faults happen: none of the seed. */
function quiet(seed: number, contender: Contender, ...interventions: readonly Intervention[]): Promise<Played> {
  return play(seed, contender, turn, { isQuiet: true, interventions })
}

function loud(seed: number, contender: Contender, ...interventions: readonly Intervention[]): Promise<Played> {
  return play(seed, contender, turn, { interventions })
}

function counts({ history, rules }: Played): { lost: number; doubled: number; parked: number } {
  const { lost, doubled } = judgedOutcome(check(history, rules))
  return { lost: lost.size, doubled: doubled.size, parked: outcomeOf(history).parked.size }
}

const kill = (message: string, point: 'started' | 'effect'): Intervention => ({
  kind: 'kill',
  when: { subject: `a/${message}`, point, nth: 1 },
})

const beforeEffect = kill('m0', 'started')
const afterEffect = kill('m0', 'effect')
const freeze: Intervention = { kind: 'freeze', when: { subject: 'a/m0', point: 'called', nth: 1 } }

/** One of each kind, at a time, as a visitor adds them between two events. */
const EACH: readonly Intervention[] = [
  { kind: 'kill', on: 'a1', when: { atMs: 300 } },
  { kind: 'freeze', on: 'a2', when: { atMs: 400 } },
  { kind: 'cut', on: 'a1', when: { atMs: 250 } },
  { kind: 'rebalance', when: { atMs: 350 } },
  { kind: 'repeat', on: 'a/m0', when: { subject: 'a/m0', point: 'delivered', nth: 1 } },
]

describe('a kill between effect and mark', () => {
  it.each([
    ['raw', { lost: 0, doubled: 1, parked: 0 }],
    ['ack-first', { lost: 0, doubled: 0, parked: 0 }],
    ['setnx-first', { lost: 0, doubled: 0, parked: 0 }],
    ['lease', { lost: 0, doubled: 1, parked: 0 }],
    ['lease-park', { lost: 0, doubled: 0, parked: 1 }],
    ['inbox', { lost: 0, doubled: 0, parked: 0 }],
  ] as const)('%s: %j', async (contender, expected) => {
    // A queue: there acks are not late, so that nothing else of the worker is handled again.
    for (const seed of [1, 26]) {
      const played = await quiet(seed, contender, afterEffect)
      expect([seed, played.plan.broker, played.begun.length, counts(played)]).toEqual([seed, 'queue', 1, expected])
      expect(played.begun[0]).toBeDefined()
    }
  })

  it('with a lease is reported as in doubt', async () => {
    const { history } = await quiet(26, 'lease', afterEffect)
    expect(history.events).toContainEqual(expect.objectContaining({ f: 'tell', what: 'in-doubt', subject: 'a/m0' }))
  })
})

describe('a kill between start and effect', () => {
  it.each([
    ['raw', { lost: 0, doubled: 0, parked: 0 }],
    ['ack-first', { lost: 1, doubled: 0, parked: 0 }],
    ['setnx-first', { lost: 1, doubled: 0, parked: 0 }],
    ['lease', { lost: 0, doubled: 0, parked: 0 }],
    ['lease-park', { lost: 0, doubled: 0, parked: 1 }],
    ['inbox', { lost: 0, doubled: 0, parked: 0 }],
  ] as const)('%s: %j', async (contender, expected) => {
    for (const seed of [26, 76])
      expect([seed, counts(await quiet(seed, contender, beforeEffect))]).toEqual([seed, expected])
  })
})

describe('a worker that is frozen for longer than its lease', () => {
  it('doubles with a lease, is parked with park, and neither with an inbox', async () => {
    const outcomes = await Promise.all(LIBRARY.map(async (contender) => counts(await quiet(119, contender, freeze))))
    expect(outcomes).toEqual([
      { lost: 0, doubled: 1, parked: 0 },
      { lost: 0, doubled: 0, parked: 1 },
      { lost: 0, doubled: 0, parked: 0 },
    ])
  })
})

describe('a message that is sent again', () => {
  it('has a second effect only without a memory of the first', async () => {
    const again: Intervention = { kind: 'repeat', on: 'a/m0', when: { subject: 'a/m0', point: 'acked', nth: 1 } }
    const doubled = await Promise.all(
      CONTENDERS.map(async (contender) => [contender, counts(await quiet(119, contender, again)).doubled]),
    )
    expect(Object.fromEntries(doubled)).toEqual({
      raw: 1,
      'ack-first': 1,
      'setnx-first': 0,
      lease: 0,
      'lease-park': 0,
      inbox: 0,
    })
  })
})

describe('added faults', () => {
  it.each(CONTENDERS)('%s: the same seed with the same faults gives the same history', async (contender) => {
    const [one, other] = await Promise.all([loud(7, contender, ...EACH), loud(7, contender, ...EACH)])
    expect(one.history.events).toEqual(other.history.events)
    expect(one.begun).toEqual(other.begun)
  })

  it('leave everything before them as it was, at every step of a schedule', async () => {
    for (const contender of ['raw', 'lease'] as const) {
      const { history } = await loud(9, contender)
      for (const { when, kind } of stepsOf(history)) {
        if (kind === 'end') continue
        const played = await loud(9, contender, { kind: 'kill', on: 'a1', when })
        const [begun] = played.begun
        if (begun === undefined) continue
        expect([contender, when, played.history.events.slice(0, begun)]).toEqual([
          contender,
          when,
          history.events.slice(0, begun),
        ])
        expect(begun).toBeGreaterThan(0)
      }
    }
  })

  it.each(EACH)('$kind is shown as the doing of the visitor', async (fault) => {
    const { history, begun } = await quiet(119, 'raw', fault)
    const [index] = begun
    expect(index).toBeDefined()
    const own = stepsOf(history, new Set([index ?? -1])).filter(({ isYours }) => isYours)
    expect(own.map(({ text }) => text)).toEqual([expect.stringMatching(/^(?:You |By your hand)/)])
    expect(faultText(fault)).toMatch(/^(?:Kill|Freeze|Cut|Rebalance|Send) .*(?:at \d+ ms|right after m0 is delivered)$/)
  })

  it('break no promise of the library, and are judged as the page counts them', async () => {
    const broken: unknown[] = []
    for (const seed of SEEDS) {
      for (const contender of CONTENDERS) {
        const played = await loud(seed, contender, ...EACH)
        const { history, rules } = played
        const verdict = check(history, rules)
        const { lost, doubled } = judgedOutcome(verdict)
        const counted = outcomeOf(history)
        if (LIBRARY.some((one) => one === contender) && !verdict.valid) broken.push([seed, ...verdict.anomalies.keys()])
        expect({ seed, contender, lost: counted.lost, doubled: counted.doubled }).toEqual({
          seed,
          contender,
          lost,
          doubled,
        })
      }
    }
    expect(broken).toEqual([])
  })

  it('meet all six consumers with the same messages at the same times', async () => {
    const sends = await Promise.all(
      CONTENDERS.map(async (contender) =>
        (await loud(9, contender)).history.events.filter(({ f, proc }) => f === 'send' && proc === 'producer'),
      ),
    )
    const [first, ...others] = sends
    expect(first?.length).toBeGreaterThan(0)
    for (const other of others) expect(other).toEqual(first)
  })
})

describe('a quiet schedule', () => {
  it('has no fault, and each message its effect once, with every consumer', async () => {
    for (const seed of SEEDS) {
      for (const contender of CONTENDERS) {
        const played = await quiet(seed, contender)
        expect([seed, contender, counts(played)]).toEqual([seed, contender, { lost: 0, doubled: 0, parked: 0 }])
        const faults = played.history.events.filter(({ f }) =>
          ['crash', 'pause', 'channel-closed', 'store-down'].includes(f),
        )
        expect(faults.filter(({ at }) => at < (healOf(played) ?? 0))).toEqual([])
      }
    }
  })
})

function healOf({ history }: Played): number | undefined {
  return history.events.find(({ f }) => f === 'heal')?.at
}

describe('a link', () => {
  it('holds seed, consumer, step and faults', () => {
    const situation = { seed: 42, contender: 'lease-park', step: 17, isQuiet: true, faults: EACH } as const
    expect(fromLink(linkTo(situation))).toEqual(situation)
    expect(linkTo(situation)).toMatch(/^#[\w=&@:,.-]+$/)
  })

  it('of nothing shows the first situation, which the first two steps of a stranger depend on', async () => {
    expect(fromLink('')).toEqual(FIRST)
    const { begun } = await quiet(FIRST.seed, FIRST.contender, ...FIRST.faults)
    expect(begun.filter((index) => index === undefined)).toEqual([])
  })

  it.each([
    'add=eval@m0.sent.1',
    'add=kill@m0.fired.1',
    'add=kill:root@m0.sent.1',
    'add=repeat@5',
    'add=kill@-1',
    'add=,,',
  ])('leaves out what it cannot read: %s', (added) => {
    expect(fromLink(`#seed=3&${added}`).faults).toEqual([])
  })

  it('holds no more faults than the page lets a visitor add', () => {
    const many = Array.from({ length: 99 }, (_, at) => `kill@${at}`).join(',')
    expect(fromLink(`#seed=3&add=${many}`).faults).toHaveLength(MOST_FAULTS)
  })
})

describe('the steps of a schedule', () => {
  it('name each message, worker and store state as the history has it', async () => {
    const { history } = await quiet(119, 'lease', afterEffect)
    const steps = stepsOf(history)
    const last = steps.at(-1) as Step
    expect(last.text).toBe('The end. m0 had its effect twice.')
    expect(last.world.broker).toEqual([])
    expect(new Map(last.world.effects)).toEqual(
      new Map([
        ['m0', 2],
        ['m1', 1],
        ['m2', 1],
      ]),
    )
    expect(new Map(last.world.store)).toEqual(
      new Map([
        ['m0', 'done'],
        ['m1', 'done'],
        ['m2', 'done'],
      ]),
    )
    expect(steps.some(({ text }) => text === 'The provider carries out m0, for the second time.')).toBe(true)
  })

  it('show the key of SETNX, and a frozen worker until it wakes up', async () => {
    const { history } = await quiet(119, 'setnx-first', freeze)
    const steps = stepsOf(history)
    expect(steps.map(({ text }) => text)).toContainEqual(expect.stringMatching(/^The store sets the key of m0/))
    const states = steps.map(({ world }) => world.workers.find(({ name }) => name === 'a1')?.state)
    expect(states.filter((state, at) => state !== states[at - 1])).toEqual(['up', 'frozen', 'up'])
  })
})

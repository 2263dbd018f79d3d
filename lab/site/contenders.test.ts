import { describe, expect, it } from '@jest/globals'
import { CONTENDERS, type Contender } from '../../site/proof/engine/contenders.ts'
import { judgedOutcome, outcomeOf, type Outcome } from '../../site/proof/engine/outcome.ts'
import { play, type Played } from '../../site/proof/engine/play.ts'
import { check, type Verdict } from '../../testing/index.ts'

const SEEDS = Array.from({ length: 30 }, (_, index) => index + 1)

interface Shown extends Played {
  readonly seed: number
  readonly outcome: Outcome
  readonly verdict: Verdict
}

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

async function show(seed: number, contender: Contender): Promise<Shown> {
  const played = await play(seed, contender, turn)
  const { plan, history, rules, begun } = played
  return { seed, plan, history, rules, begun, outcome: outcomeOf(history), verdict: check(history, rules) }
}

const shown = new Map<Contender, Promise<readonly Shown[]>>()

/** The schedules of a contender, played by the first test that looks at them. */
function shownOf(contender: Contender): Promise<readonly Shown[]> {
  const played = shown.get(contender) ?? Promise.all(SEEDS.map((seed) => show(seed, contender)))
  shown.set(contender, played)
  return played
}

/** Seeds with a lost message, and seeds with a doubled one. */
async function seedsOf(contender: Contender): Promise<{ lost: number[]; doubled: number[] }> {
  const all = await shownOf(contender)
  return {
    lost: all.filter(({ outcome }) => outcome.lost.size > 0).map(({ seed }) => seed),
    doubled: all.filter(({ outcome }) => outcome.doubled.size > 0).map(({ seed }) => seed),
  }
}

describe('the contenders on the same thirty seeds', () => {
  it('raw at-least-once loses nothing and doubles', async () => {
    const { lost, doubled } = await seedsOf('raw')
    expect(lost).toEqual([])
    expect(doubled).not.toEqual([])
  })

  it.each(['ack-first', 'setnx-first'] as const)('%s loses', async (contender) => {
    expect((await seedsOf(contender)).lost).not.toEqual([])
  })

  it('a lease loses nothing, and tells of each message that it may double', async () => {
    const { lost, doubled } = await seedsOf('lease')
    expect(lost).toEqual([])
    expect(doubled).not.toEqual([])
    for (const { seed, history, outcome } of await shownOf('lease')) {
      const told = history.events.flatMap((event) =>
        event.f === 'tell' && event.what === 'in-doubt' ? event.subject : [],
      )
      expect({ seed, untold: [...outcome.doubled].filter((subject) => !told.includes(subject)) }).toEqual({
        seed,
        untold: [],
      })
    }
  })

  it('a lease with park loses nothing and doubles nothing: it parks', async () => {
    expect(await seedsOf('lease-park')).toEqual({ lost: [], doubled: [] })
    const parked = (await shownOf('lease-park')).filter(({ outcome }) => outcome.parked.size > 0)
    expect(parked).not.toEqual([])
  })

  it('an inbox loses nothing and doubles nothing', async () => {
    expect(await seedsOf('inbox')).toEqual({ lost: [], doubled: [] })
  })

  it.each(CONTENDERS)('%s: the checker judges each schedule the same way', async (contender) => {
    for (const { seed, outcome, verdict } of await shownOf(contender)) {
      const { lost, doubled } = judgedOutcome(verdict)
      expect({ seed, lost: outcome.lost, doubled: outcome.doubled }).toEqual({ seed, lost, doubled })
    }
  })

  it.each(['lease', 'lease-park', 'inbox'] as const)('%s keeps its whole promise', async (contender) => {
    const broken = (await shownOf(contender)).filter(({ verdict }) => !verdict.valid)
    expect(broken.map(({ seed, verdict }) => [seed, ...verdict.anomalies.keys()])).toEqual([])
  })

  it('all have the plan of the seed, except for what they promise', async () => {
    const [first, ...others] = await Promise.all(
      CONTENDERS.map(async (contender) =>
        (await shownOf(contender)).map(({ plan }) => ({ ...plan, promised: undefined })),
      ),
    )
    for (const plans of others) expect(plans).toEqual(first)
  })

  it('the same seed gives the same history again', async () => {
    for (const contender of CONTENDERS) {
      const [once] = await shownOf(contender)
      expect((await show(1, contender)).history).toEqual(once?.history)
    }
  })
})

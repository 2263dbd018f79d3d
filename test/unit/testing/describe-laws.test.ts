import { describe, expect, it } from '@jest/globals'
import { describeStoreContract, simulateAll, storeLaws, type SimulatedHandler } from 'consume-once/testing'
import type { StoreLaw } from '../../../testing/contract/store/harness.ts'
import { describeLaws, type Law, type Runner, type Suite } from '../../../testing/contract/law.ts'

type Broken = 'gears' | 'oil'

const LAWS: readonly Law<{ readonly turns: boolean }, Broken>[] = [
  { name: 'turns', needs: 'gears', run: async ({ turns }) => (turns ? undefined : Promise.reject(new Error('stuck'))) },
  { name: 'stands', run: async () => {} },
]

interface Collected {
  readonly name: string
  readonly isSkipped: boolean
  readonly timeoutMs: number | undefined
  readonly run: () => Promise<void>
}

/** What a runner would be told. */
function collect(suite: Partial<Suite<{ readonly turns: boolean }, Broken>>): readonly Collected[] {
  const tests: Collected[] = []
  const all = { laws: LAWS, keep: (law: (typeof LAWS)[number]) => law.run({ turns: false }), ...suite }
  const runs = (name: string, run: () => Promise<void>, timeoutMs?: number): void =>
    void tests.push({ name, run, timeoutMs, isSkipped: false })
  const skip = (name: string, run: () => Promise<void>): void =>
    void tests.push({ name, run, timeoutMs: undefined, isSkipped: true })
  const runner: Runner = { describe: (_name, define) => define(), it: Object.assign(runs, { skip }) }
  describeLaws('a machine', all, runner)
  return tests
}

describe('a suite of laws', () => {
  it('is one test for each law, which rejects where that is broken', async () => {
    const [turns, stands] = collect({})
    await expect(turns?.run()).rejects.toThrow('stuck')
    await expect(stands?.run()).resolves.toBeUndefined()
  })

  it('skips what needs something that is lacking, with the reason in its name, and nothing else', () => {
    const tests = collect({ lacks: { gears: 'it has belts' } })
    expect(tests.map(({ name, isSkipped }) => [name, isSkipped])).toEqual([
      ['turns (not here: it has belts)', true],
      ['stands', false],
    ])
  })

  it('skips a law that needs several things if one of them is lacking', () => {
    const law: (typeof LAWS)[number] = { name: 'runs', needs: ['gears', 'oil'], run: async () => {} }
    const tests = collect({ laws: [law], lacks: { oil: 'it is dry' } })
    expect(tests.map(({ name }) => name)).toEqual(['runs (not here: it is dry)'])
  })

  it('leaves the time limit to the runner unless it has one of its own', () => {
    expect(collect({}).map(({ timeoutMs }) => timeoutMs)).toEqual([undefined, undefined])
    expect(collect({ timeoutMs: 90_000 }).map(({ timeoutMs }) => timeoutMs)).toEqual([90_000, 90_000])
  })
})

const unused = (): Promise<never> => Promise.reject(new Error('unused'))

function declaring(store: Partial<Parameters<typeof describeStoreContract>[1]>): () => void {
  const runner = { describe: () => {}, it: Object.assign(() => {}, { skip: () => {} }) }
  const all = { strategy: 'lease', createHarness: unused, ...store } as Parameters<typeof describeStoreContract>[1]
  return () => describeStoreContract('mine', all, runner)
}

it.each(['lease', 'inbox', 'offsets'] as const)('a %s without admin runs no law that calls it', (strategy) => {
  const run: string[] = []
  const runs = Object.assign((name: string) => void run.push(name), { skip: () => {} })
  const store = { strategy, createHarness: unused, lacks: { admin: 'nobody decides' } }
  describeStoreContract('mine', store, { describe: (_, define) => define(), it: runs })
  const laws: readonly StoreLaw<never>[] = storeLaws[strategy]
  const callers = laws.filter((law) => Object.values(law).join(' ').includes('admin')).map(({ name }) => name)
  expect(callers.length).toBeGreaterThan(5)
  expect(run.filter((name) => callers.includes(name))).toEqual([])
})

describe('what would show nothing is refused', () => {
  it('a store of a strategy that has no laws', () => {
    expect(declaring({ strategy: 'Lease' as 'lease' })).toThrow('expected "lease", "inbox" or "offsets", got "Lease"')
  })

  it('a lack that is none, or that has no reason', () => {
    expect(declaring({ lacks: { speed: 'slow' } as object })).toThrow('mine: lacks.speed: unknown option')
    expect(declaring({ lacks: { loss: '' } })).toThrow('mine: lacks.loss: expected the reason why')
  })

  it.each<readonly [string, Parameters<typeof simulateAll>, string]>([
    ['no seed', [5, 1], 'expected two whole numbers, the first at most the second, got 5 and 1'],
    ['half a seed', [1.5, 2], 'expected two whole numbers'],
    ['another option', [1, 2, { promise: 'inbox' } as object], 'promise: unknown option; did you mean promised?'],
    ['another promise', [1, 2, { promised: 'lease,park' as 'inbox' }], 'expected "lease, rerun", "lease, park"'],
    ['no handler', [1, 2, { handle: 'me' as unknown as SimulatedHandler }], 'handle: expected a function'],
  ])('schedules of %s', async (_title, asked, says) => {
    await expect(simulateAll(...asked).next()).rejects.toThrow(says)
  })
})

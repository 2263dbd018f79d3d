import { describe, expect, it } from '@jest/globals'
import { describeLaws, type Law, type Runner, type Suite } from '../../testing/contract/law.ts'

type Broken = 'gears'

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

  it('leaves the time limit to the runner unless it has one of its own', () => {
    expect(collect({}).map(({ timeoutMs }) => timeoutMs)).toEqual([undefined, undefined])
    expect(collect({ timeoutMs: 90_000 }).map(({ timeoutMs }) => timeoutMs)).toEqual([90_000, 90_000])
  })
})

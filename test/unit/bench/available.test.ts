import { describe, expect, it } from '@jest/globals'
import { available } from '../../../bench/available.ts'
import { reportOf, textOf } from '../../../bench/report.ts'
import type { Contender, Scenario } from '../../../bench/suite.ts'

const contender = (name: string, prepare?: Contender['prepare']): Contender => ({
  name,
  run: async () => ({ messages: 1, tookMs: 1, cpuMs: 1 }),
  ...(prepare && { prepare }),
})
const scenarioOf = (...contenders: readonly Contender[]): Scenario => ({
  name: 'one',
  title: 'one',
  messages: 1,
  repetitions: 1,
  needs: [],
  contenders,
  ratios: [{ of: 'ours', to: 'on another planet', goal: 4 }],
  bounds: [{ of: 'on another planet', figure: 'bytes', most: 1 }],
})

describe('a contender that takes more than packages and servers', () => {
  it('is left out with its reason where that cannot be had, with all that compares it', async () => {
    const lacking = contender('on another planet', async () => {
      throw new Error('no java in PATH\nand more')
    })
    const { scenario, leftOut, versions } = await available(scenarioOf(contender('ours'), lacking))
    expect(scenario).toMatchObject({ contenders: [{ name: 'ours' }], ratios: [], bounds: [] })
    expect(leftOut).toEqual(['on another planet: no java in PATH'])
    expect(versions).toEqual({})
    const machine = { node: 'v1', system: 'S', processor: 'P', cores: 1, memoryGb: 1, versions }
    const run = { at: '', commit: '', load: { start: 0, end: 0 }, leftOut }
    const measured = reportOf(scenario, [{ ours: { messages: 1, tookMs: 1, cpuMs: 1 } }], run)
    const report = { machine, suite: 's', smoke: false, scenarios: [measured] }
    expect(textOf(report)).toContain('left out: on another planet: no java in PATH')
  })

  it('runs where it can be had, and its versions are told', async () => {
    const planet = contender('on another planet', async () => ({ Java: '17' }))
    const { scenario, leftOut, versions } = await available(scenarioOf(contender('ours'), planet))
    expect(scenario.contenders).toHaveLength(2)
    expect(scenario.ratios).toHaveLength(1)
    expect(leftOut).toEqual([])
    expect(versions).toEqual({ Java: '17' })
  })
})

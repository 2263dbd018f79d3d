import { readFileSync } from 'node:fs'
import { expect, it } from '@jest/globals'
import * as costs from '../../../cli/size/costs.ts'
import { EXPECTED } from '../../counts/expected.ts'

interface Contender {
  readonly name: string
  readonly rate: { readonly median: number }
  readonly cpuMicroseconds: { readonly median: number }
  readonly figures: Readonly<Record<string, { readonly median: number }>>
}

interface Results {
  readonly scenarios: readonly { readonly name: string; readonly contenders: readonly Contender[] }[]
}

/** Rates are whole; all other figures have one digit behind the point. */
function recordedOf({ from }: costs.Cost): number {
  if ('scene' in from) return from.counts.reduce((sum, count) => sum + (EXPECTED[from.scene]?.[count] ?? 0), 0)
  const { scenarios } = JSON.parse(readFileSync(`bench/results/${from.suite}.json`, 'utf8')) as Results
  const contender = scenarios
    .find(({ name }) => name === from.scenario)
    ?.contenders.find(({ name }) => name === from.contender)
  if (from.figure === 'rate') return Math.round(contender?.rate.median ?? Number.NaN)
  const figure = from.figure === 'cpu' ? contender?.cpuMicroseconds : contender?.figures[from.figure]
  return Math.round((figure?.median ?? Number.NaN) * 10) / 10
}

function isCost(value: unknown): value is costs.Cost {
  return typeof value === 'object' && value !== null && 'from' in value
}

function costsIn(value: unknown): readonly costs.Cost[] {
  if (isCost(value)) return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(costsIn) : []
}

const all = new Map(costsIn(costs).map((cost) => [costs.originText(cost), cost] as const))

it('there are costs to compare', () => expect(all.size).toBeGreaterThan(20))

it.each([...all])('the tool has what was recorded: %s', (_, cost) => {
  expect(cost.value).toBe(recordedOf(cost))
})

it('the tool knows among how many records a claim was measured', () => {
  expect(readFileSync('bench/results/growth.json', 'utf8')).toContain(
    `among ${costs.GROWN_TO.toLocaleString('en-US')}"`,
  )
})

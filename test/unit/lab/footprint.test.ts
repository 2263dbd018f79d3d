import { readFileSync } from 'node:fs'
import { expect, it } from '@jest/globals'
import { medianOf, resourcesOf, type Round } from '../../../lab/footprint/figures.ts'
import { PAGE, withTable } from '../../../lab/footprint/page.ts'
import { CASES, PER_SECOND } from '../../../lab/footprint/plan.ts'
import { readRecorded } from '../../../lab/footprint/recorded.ts'
import { keptUp } from '../../../lab/footprint/round.ts'

/** Tables as they are before the formatter aligns them. */
const unaligned = (text: string): string => text.replaceAll(/ +/g, ' ').replaceAll(/-{3,}/g, '---')

it('the table of sizes is written from what was recorded', () => {
  const page = readFileSync(PAGE, 'utf8')
  expect(unaligned(page)).toBe(unaligned(withTable(page, readRecorded())))
})

it('the sizes are those of three rounds of each worker, in which it kept up with what was sent', () => {
  const { rounds } = readRecorded()
  for (const what of CASES) {
    expect(rounds[what].length).toBeGreaterThanOrEqual(3)
    expect(rounds[what].filter((round) => !keptUp(round))).toEqual([])
    expect(rounds[what].map(({ idle }) => idle.handledPerSecond)).toEqual(rounds[what].map(() => 0))
  }
})

const taken = (millicores: number, memoryMib: number, handledPerSecond = 0) => ({
  millicores,
  memoryMib,
  handledPerSecond,
})
const round = (millicores: number, memoryMib: number, handledPerSecond: number = PER_SECOND): Round => ({
  idle: taken(1, 1),
  loaded: taken(millicores, memoryMib, handledPerSecond),
})

it('a container asks for half as much CPU again as the most that was taken, and a quarter more memory', () => {
  const rounds = { 'kafka-redis': [round(100, 64), round(101, 60)], 'rabbitmq-postgres': [round(40, 102)] }
  expect(resourcesOf({ rounds })).toEqual({ requestMillicores: 200, requestMib: 128, limitMib: 256 })
})

it('a round that handled less than was sent, or what had waited, does not count', () => {
  expect([940, 960, 1_040, 1_060].map((rate) => keptUp(round(1, 1, rate)))).toEqual([false, true, true, false])
})

it('the median of an even count is that between the middle two', () => {
  expect([medianOf([3]), medianOf([9, 1, 4]), medianOf([1, 9, 3, 5])]).toEqual([3, 4, 4])
})

import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { expect, it } from '@jest/globals'
import { filesOf, GROUPS } from '../../../lab/matrix/groups.ts'
import { KNOWN_FAILURES } from '../../../lab/matrix/known-failures.ts'
import { nameOfFailure, pageOf } from '../../../lab/matrix/page.ts'
import { commitsSince, readRecorded } from '../../../lab/matrix/recorded.ts'
import { describeWithHistory } from '../../kit/checkout.ts'

/** By as many commits the page may say too few. Then: `npm run matrix -- --count`. */
const MOST_UNCOUNTED = 100
/** By as many commits to src and adapters, and days, what was found may be older than the code. Then: `npm run matrix`. */
const MOST_COMMITS = 400
const MOST_DAYS = 60
const DAY_MS = 86_400_000

const recorded = readRecorded()
const outcomes = recorded.groups.flatMap(({ name, columns }) =>
  columns.flatMap(({ result }) =>
    'outcomes' in result ? result.outcomes.map((one) => ({ group: name, ...one })) : [],
  ),
)

/** Tables as they are before the formatter aligns them. */
const unaligned = (text: string): string => text.replaceAll(/ +/g, ' ').replaceAll(/-{3,}/g, '---')

it('the page of compatibility is written from what was recorded', () => {
  expect(unaligned(readFileSync('docs/compatibility.md', 'utf8'))).toBe(unaligned(pageOf(recorded)))
})

it('the page names only test files that exist', () => {
  expect(outcomes.length).toBeGreaterThan(50)
  const files = new Map(GROUPS.map((group) => [group.name, filesOf(group).map((file) => basename(file, '.test.ts'))]))
  expect(outcomes.filter(({ group, suite }) => !files.get(group)?.includes(suite))).toEqual([])
})

it('the page explains each failure, and nothing that has not failed', () => {
  const failed = outcomes.flatMap(({ suite, failures }) => failures.map((test) => nameOfFailure(suite, test)))
  expect(Object.keys(KNOWN_FAILURES).toSorted()).toEqual([...new Set(failed)].toSorted())
})

const times = [...new Set(outcomes.map(({ run }) => run.at))]

it('the page says by how many commits each run is older than the code, which were not many when they were counted', () => {
  const { on, since } = recorded.counted ?? { on: '', since: {} }
  expect(Object.keys(since).toSorted()).toEqual(times.toSorted())
  const old = times.filter(
    (at) => (since[at] ?? 0) > MOST_COMMITS || Date.parse(on) - Date.parse(at) > MOST_DAYS * DAY_MS,
  )
  expect(old).toEqual([])
})

describeWithHistory('in a clone with all commits', () => {
  it.each(times)(
    'the page is counted again before it is far behind the code, and run again before it is old: %s',
    (at) => {
      const commits = commitsSince(at)
      expect(commits - (recorded.counted?.since[at] ?? 0)).toBeLessThanOrEqual(MOST_UNCOUNTED)
      expect(commits).toBeLessThanOrEqual(MOST_COMMITS)
      expect(Date.now() - Date.parse(at)).toBeLessThanOrEqual(MOST_DAYS * DAY_MS)
    },
  )
})

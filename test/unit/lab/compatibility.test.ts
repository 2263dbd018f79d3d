import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { expect, it } from '@jest/globals'
import { filesOf, GROUPS } from '../../../lab/matrix/groups.ts'
import { KNOWN_FAILURES } from '../../../lab/matrix/known-failures.ts'
import { nameOfFailure, pageOf } from '../../../lab/matrix/page.ts'
import { readRecorded, runTimes } from '../../../lab/matrix/recorded.ts'

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

it('the page says by how many commits each run was older than the code when they were counted', () => {
  expect(Object.keys(recorded.counted?.since ?? {}).toSorted()).toEqual(runTimes(recorded))
})

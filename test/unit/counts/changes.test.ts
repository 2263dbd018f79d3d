import { expect, it } from '@jest/globals'
import { changes } from '../../counts/changes.ts'

const EXPECTED = { 'round trips': 14, scripts: 39 }

it('a number that is what it was is not told', () => {
  expect(changes('Redis lease', { scripts: 39, 'round trips': 14 }, EXPECTED)).toBe('')
})

it('one that grew is told, with what to write by hand', () => {
  expect(changes('Redis lease', { 'round trips': 14, scripts: 3_697 }, EXPECTED))
    .toBe(`Redis lease, for each 1,000 messages:
  scripts grew from 39 to 3697
If that is meant, change test/counts/expected.ts by hand, and say why in the commit message:
  'Redis lease': {
    'round trips': 14,
    scripts: 3_697,
  },`)
})

it('one that shrank is told too, so that it stays there', () => {
  expect(changes('Redis lease', { 'round trips': 5, scripts: 39 }, EXPECTED)).toContain(
    'round trips shrank from 14 to 5: lower it, so that it stays there',
  )
})

it('what is not counted any more, and what nobody wrote down, are told', () => {
  const told = changes('Redis lease', { scripts: 39, 'rows read': 7 }, EXPECTED)
  expect(told).toContain('round trips was 14, and is 0')
  expect(told).toContain('rows read is 7, and was 0')
})

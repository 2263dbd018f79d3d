import { describe, expect, it } from '@jest/globals'
import { latestOf, sinceFirst, sinceKept } from '../../src/records/known-since.ts'

const HOUR_MS = 3_600_000
const NOW = 1_000 * HOUR_MS

const hoursAgo = (retentions: Readonly<Record<number, number>>): number => {
  const used = Object.entries(retentions).map(([hours, ago]) => [Number(hours) * HOUR_MS, NOW - ago * HOUR_MS] as const)
  const { at } = latestOf(sinceFirst(0), sinceKept(NOW, used))
  return (NOW - at + 1) / HOUR_MS
}

describe('since when absence of a record proves something, where records end by themselves', () => {
  it.each([
    ['is the retention in use', { 100: 0 }, 100],
    ['is the former retention right after it was raised', { 24: 1, 100: 0 }, 24],
    ['is the time of the raise once records of before may have ended', { 24: 30, 100: 0 }, 30],
    ['is the retention in use long after a raise', { 24: 200, 100: 0 }, 100],
    ['is the lower retention after it was lowered', { 100: 1, 24: 0 }, 24],
    ['accounts for each of two raises', { 24: 90, 48: 10, 100: 0 }, 48],
  ])('%s', (_, retentions, expected) => {
    expect(hoursAgo(retentions)).toBe(expected)
  })
})

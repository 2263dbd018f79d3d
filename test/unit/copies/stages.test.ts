import { describe, expect, it } from '@jest/globals'
import { stageAfter, stageFor, type RetryCopy } from '../../../src/internal.ts'

const STAGES = [{ delayMs: 60_000 }, { delayMs: 1_000 }, { delayMs: 10_000 }]

function delayOf(copy: Pick<RetryCopy, 'why' | 'attempts' | 'delayMs'>): number {
  return stageFor(STAGES, copy as RetryCopy).delayMs
}

describe('where a copy waits', () => {
  it.each([
    [1, 60_000],
    [2, 1_000],
    [3, 10_000],
    [9, 10_000],
  ])('after %s attempts, in the order given; the last stage serves all further ones', (attempts, delayMs) => {
    expect(stageAfter(STAGES, attempts)?.delayMs).toBe(delayMs)
    expect(delayOf({ why: 'failed', attempts, delayMs: 1 })).toBe(delayMs)
    expect(stageAfter([], attempts)).toBe(undefined)
  })

  it.each([
    [1, 1_000],
    [1_000, 1_000],
    [1_001, 10_000],
    [99_000, 60_000],
  ])('while another is busy with it for %s ms: where that is just over, else longest', (leftMs, delayMs) => {
    expect(delayOf({ why: 'busy', attempts: 0, delayMs: leftMs })).toBe(delayMs)
  })
})

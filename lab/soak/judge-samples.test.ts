import { describe, expect, it } from '@jest/globals'
import { judgeSamples } from './judge-samples.ts'
import type { Sample, WorkerSample } from './sample.ts'

const BOUNDS = { retentionMs: 60_000, longestTransactionMs: 30_000 }
const TIMES = 300
const GOOD: readonly Sample[] = over((index) => ({
  at: index * 2_000,
  // Levels off after the first retention.
  records: { count: Math.min(100_000, index * 3_400), mb: 20 },
  transactions: { connections: 18, lingering: index % 50 === 7 ? 4 : 0, oldestMs: index % 50 === 7 ? 14_000 : 30 },
  backlog: 200,
  workers: [worker(30 + (index % 7))],
}))

function over(of: (index: number) => Sample): readonly Sample[] {
  return Array.from({ length: TIMES }, (_, index) => of(index))
}

function worker(heapMb: number, process = 'w3.1'): WorkerSample {
  return { process, rssMb: 2 * heapMb, usage: { heapMb, timers: 6, handles: 20 } }
}

function but(change: (index: number) => Partial<Sample>): readonly Sample[] {
  return GOOD.map((sample, index) => ({ ...sample, ...change(index) }))
}

function found(samples: readonly Sample[]): readonly string[] {
  return judgeSamples(samples, BOUNDS).map(({ law, detail }) => `${law}: ${detail}`)
}

describe('the judge of the samples of a soak', () => {
  it('accepts a run that levels off, with workers that are frozen at times', () => {
    expect(found(GOOD)).toEqual([])
  })

  it('finds a heap that rises, and names its worker', () => {
    const leaking = but((index) => ({ workers: [worker(30, 'w1.1'), worker(30 + index / 2)] }))
    expect(found(leaking)).toEqual([expect.stringMatching(/^nothing-grows: L4 growth: heapMb of w3\.1 rose from/)])
  })

  it('counts a restarted worker as another worker', () => {
    const restarted = but((index) => ({
      workers: [worker(30), worker(30 + (index % 60), `w1.${Math.floor(index / 60)}`)],
    }))
    expect(found(restarted)).toEqual([])
  })

  it('finds records that nobody removes', () => {
    const kept = but((index) => ({ records: { count: index * 3_400, mb: index } }))
    expect(found(kept)).toEqual([expect.stringContaining('nothing-grows: L4 growth: records of the store rose')])
  })

  it('lets records become more in a run that is too short for them to level off', () => {
    expect(found(GOOD.slice(0, 60))).toEqual([])
  })

  it('finds transactions that become more', () => {
    const leaked = but((index) => ({
      transactions: { connections: 18, lingering: Math.floor(index / 20), oldestMs: 20_000 },
    }))
    expect(found(leaked)).toEqual([expect.stringContaining('L4 growth: openTransactions of the store rose')])
  })

  it('finds one transaction that is never ended', () => {
    const left = but((index) => ({
      transactions: { connections: 18, lingering: 1, oldestMs: Math.max(0, (index - 200) * 2_000) },
    }))
    expect(found(left)).toEqual(['no-transaction-left-open: 432 s after the begin one was open for 32000 ms'])
  })

  it.each<[string, Partial<Sample>]>([
    ['records', { records: undefined }],
    ['transactions', { transactions: undefined }],
    ['the heap of one worker', { workers: [{ process: 'w3.1', rssMb: 60, usage: undefined }] }],
  ])('accepts no run without samples of %s', (what, unseen) => {
    const samples = but((index) => (index < 200 ? unseen : {}))
    expect(found(samples)).toEqual([expect.stringContaining(`seen-all-the-way: ${what}: 100 of 300`)])
  })
})

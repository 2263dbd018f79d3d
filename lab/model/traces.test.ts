import { beforeAll, describe, expect, test } from '@jest/globals'
import type { Defines } from '../../model/cell.ts'
import { needTools, type Tools } from '../../model/spin.ts'
import { Tracer, tracesOf, type Trace } from '../../model/trace.ts'
import type { Promised } from '../../testing/checker/anomaly.ts'
import { holdAfterOf, type Plan } from '../../testing/sim/plan.ts'
import { simulateAll } from '../../testing/sim/simulate.ts'

const WITHIN_MS = 300_000
const MAX_ATTEMPTS = 2

/** The model knows one message: no other of its batch or transaction, no hold, no record that the store forgets. */
function isModelled({ promised, handler, batchSize, maxAttempts, retentionMs, disturbances, ...plan }: Plan): boolean {
  const isAlone = handler === 'handle' && (promised !== 'inbox' || batchSize === 1)
  const forgets = retentionMs < 60_000 || disturbances.some(({ kind }) => kind === 'store-loss')
  return isAlone && maxAttempts === MAX_ATTEMPTS && !forgets && holdAfterOf(plan) === undefined
}

async function tracesUnder(promised: Promised, seeds: number): Promise<readonly Trace[]> {
  const traces = new Set<Trace>()
  for await (const { plan, history } of simulateAll(1, seeds, { promised })) {
    if (isModelled(plan)) for (const trace of tracesOf(history.events).values()) traces.add(trace)
  }
  return [...traces]
}

interface Rules {
  readonly promised: Promised
  readonly defines: Defines
  readonly seeds: number
  /** How many different traces those seeds have, at least. */
  readonly least: number
  /** Letters that occur in some of them. */
  readonly letters: string
  /** What the rules rule out. */
  readonly never: readonly Trace[]
}

const NEVER_UNDER_A_LEASE = ['M', 'CMM', 'CMC', 'CMT', 'CGC', 'CGT', 'CDC', 'CDG', 'CDTG', 'CRCRC']

describe('what the simulator has a store write for a message, the model can do', () => {
  let tools: Tools
  beforeAll(async () => {
    tools = await needTools()
  }, WITHIN_MS)

  test.each<Rules>([
    {
      promised: 'lease, rerun',
      defines: { PARK: 0 },
      seeds: 300,
      least: 15,
      letters: 'CTMRDFGP',
      never: [...NEVER_UNDER_A_LEASE, 'CPM', 'CP'],
    },
    {
      promised: 'lease, park',
      defines: { PARK: 1 },
      seeds: 300,
      least: 10,
      letters: 'CTMRFGP',
      never: [...NEVER_UNDER_A_LEASE, 'CTM', 'CD'],
    },
    {
      promised: 'lease, keyed',
      defines: { PARK: 0, KEYED: 1 },
      seeds: 300,
      least: 15,
      letters: 'CTMRDFGP',
      never: [...NEVER_UNDER_A_LEASE, 'CPM', 'CP'],
    },
    {
      promised: 'inbox',
      defines: { INBOX: 1 },
      seeds: 1_000,
      least: 7,
      letters: 'CMRFG',
      never: ['M', 'CMM', 'CMC', 'CGC', 'CD', 'CT', 'CP', 'CRCRCM'],
    },
  ])(
    '$promised',
    async ({ promised, defines, seeds, least, letters, never }) => {
      const traces = await tracesUnder(promised, seeds)
      expect(traces.length).toBeGreaterThanOrEqual(least)
      expect(letters.replaceAll(new RegExp(`[${traces.join('')}]`, 'g'), '')).toBe('')
      await using model = await Tracer.build({ ...defines, MAXATTEMPTS: MAX_ATTEMPTS }, tools)
      const cannot: Trace[] = []
      for (const trace of traces) if (!(await model.canTake(trace))) cannot.push(trace)
      expect(cannot).toEqual([])
      const can: Trace[] = []
      for (const trace of never) if (await model.canTake(trace)) can.push(trace)
      expect(can).toEqual([])
    },
    WITHIN_MS,
  )
})

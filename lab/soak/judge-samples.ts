import { check, type HistoryEvent } from 'consume-once/testing'
import type { Violation } from '../chaos/verdict.ts'
import type { Sample } from './sample.ts'

export type SamplesLaw = 'nothing-grows' | 'no-transaction-left-open' | 'seen-all-the-way'

/** As testing/checker/growth.ts counts them: it judges no process by fewer samples, and the first share of them is no measure. */
const FEWEST = 15
const WARM_UP = 1 / 5

export interface Bounds {
  readonly retentionMs: number
  /** No process is frozen, or handles a batch, for as long. */
  readonly longestTransactionMs: number
}

/** Judges all samples of a run: nothing that it holds may grow without end. */
export function judgeSamples(samples: readonly Sample[], bounds: Bounds): Violation<SamplesLaw>[] {
  return [...notSeen(samples), ...growth(samples, bounds), ...leftOpen(samples, bounds)]
}

/** A run of which too little was seen has not shown anything. */
function notSeen(samples: readonly Sample[]): Violation<SamplesLaw>[] {
  const seen: Readonly<Record<string, number>> = {
    records: samples.filter(({ records }) => records !== undefined).length,
    transactions: samples.filter(({ transactions }) => transactions !== undefined).length,
    'the heap of one worker': heapsOfTheLongest(samples),
  }
  return Object.entries(seen)
    .filter(([, times]) => times < Math.max(FEWEST, samples.length / 2))
    .map(([what, times]) => ({
      law: 'seen-all-the-way',
      detail: `${what}: ${times} of ${samples.length} samples, at least ${FEWEST} and half of them are needed`,
    }))
}

function heapsOfTheLongest(samples: readonly Sample[]): number {
  const processes = new Set(samples.flatMap(({ workers }) => workers.map(({ process }) => process)))
  const heapsOf = (name: string) =>
    samples.filter(({ workers }) => workers.some((one) => one.process === name && one.usage))
  return Math.max(0, ...[...processes].map((name) => heapsOf(name).length))
}

/** Until the first retention has ended, which must be within the warm-up, records rightly become more. */
function growth(samples: readonly Sample[], { retentionMs }: Bounds): Violation<SamplesLaw>[] {
  const levelsOff = retentionMs <= (samples.at(-1)?.at ?? 0) * WARM_UP
  const events = samples.flatMap((sample) => eventsOf(levelsOff ? sample : { ...sample, records: undefined }))
  const end = { isDrained: true, unsettled: [], records: new Map(), at: samples.at(-1)?.at ?? 0 }
  const rules = { promised: 'inbox', hadFaults: true, maxAttempts: 1, mostDeliveries: 1 } as const
  const { anomalies } = check({ events, end }, rules)
  return [...anomalies].flatMap(([anomaly, witnesses]) =>
    witnesses.map(({ says }): Violation<SamplesLaw> => ({ law: 'nothing-grows', detail: `${anomaly}: ${says}` })),
  )
}

function eventsOf({ at, records, transactions, workers }: Sample): readonly HistoryEvent[] {
  return [
    {
      f: 'sample',
      at,
      proc: 'the store',
      ...(records === undefined ? {} : { records: records.count }),
      ...(transactions === undefined ? {} : { openTransactions: transactions.lingering }),
    },
    ...workers.flatMap(({ process, usage }): HistoryEvent[] =>
      usage === undefined ? [] : [{ f: 'sample', at, proc: process, heapMb: usage.heapMb }],
    ),
  ]
}

function leftOpen(samples: readonly Sample[], { longestTransactionMs }: Bounds): Violation<SamplesLaw>[] {
  const found = samples.find(({ transactions }) => (transactions?.oldestMs ?? 0) > longestTransactionMs)
  if (found === undefined) return []
  const detail = `${Math.round(found.at / 1_000)} s after the begin one was open for ${Math.round(found.transactions?.oldestMs ?? 0)} ms`
  return [{ law: 'no-transaction-left-open', detail }]
}

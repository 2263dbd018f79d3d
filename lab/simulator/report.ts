import type { Anomaly, Promised } from '../../testing/index.ts'
import type { ProofPart } from '../proof/part.ts'
import type { Failure, Tally } from './child.ts'
import type { Seeds, SeedsReport } from './run-seeds.ts'

/** Counts of a run, for people who watch it. */
export function tallyText({ tallies, failures, schedules, seconds }: SeedsReport): string {
  const rate = Math.round(schedules / seconds)
  const lines = [...tallies].map(
    ([promised, tally]) => `${promised}: ${tally.schedules}; admitted: ${admittedText(tally)}`,
  )
  const seeds = failures.map(({ seed, anomalies }) => `${seed} ${anomalies.join(' + ')}`)
  return [
    `${schedules} schedules in ${seconds.toFixed(1)} s, ${rate} a second; ${failures.length} not as promised`,
    ...seeds.slice(0, 20),
    ...lines.toSorted(),
  ].join('\n')
}

/** Command that repeats a schedule and prints it. */
export function replayOf({ seed }: Pick<Failure, 'seed'>, mutant?: string): string {
  return `npm run sim -- --only ${seed}${mutant === undefined ? '' : ` --mutant ${mutant}`}`
}

export function partOf(report: SeedsReport, { from, to }: Seeds): ProofPart {
  const { tallies, failures, schedules, seconds } = report
  const events = [...tallies.values()].reduce((sum, tally) => sum + tally.events, 0)
  return {
    title: 'Simulator',
    command: `npm run sim -- --seeds ${from}..${to}`,
    summary:
      `${schedules.toLocaleString('en')} schedules, seeds ${from} to ${to}, ${events.toLocaleString('en')} events: ` +
      `${failures.length} with an anomaly that is not admitted. Each is a few messages, one to three workers and some seconds of virtual time, in ` +
      'which calls and their replies are lost, processes die at named steps or are paused, leases run out, partitions and channels are taken away, ' +
      'clocks jump, and the store forgets; then faults end, and all must drain.',
    versions: {},
    seconds,
    tables: [
      {
        title: 'Schedules by promise, and in how many of them something happened that it admits',
        columns: ['promise', 'schedules', 'admitted'],
        rows: [...tallies].map(([promised, tally]) => rowOf(promised, tally)).toSorted(byText),
      },
    ],
    limits: [
      'Clients, sockets and servers: broker and store are in memory, the adapters are not in it.',
      'What a person decides while messages run, and results kept with marks.',
      FORGOTTEN,
    ],
  }
}

const FORGOTTEN =
  'In some schedules the store of a lease forgets its records, and with them goes the promise of `lease, park`: a second effect is admitted ' +
  'there, and in no other of its schedules.'

function rowOf(promised: Promised, tally: Tally): readonly (string | number)[] {
  return [promised, tally.schedules, admittedText(tally)]
}

function admittedText({ admitted }: Tally): string {
  const counts = (Object.entries(admitted) as [Anomaly, number][]).toSorted(byText)
  return counts.map(([anomaly, count]) => `${anomaly} ${count}`).join(', ') || 'nothing'
}

function byText(one: readonly unknown[], other: readonly unknown[]): number {
  return String(one[0]).localeCompare(String(other[0]), 'en', { numeric: true })
}

import type { HistoryEvent } from '../history.ts'
import type { Verdict } from './check.ts'
import type { Counterexample } from './counterexample.ts'

/** Number of witnesses shown for one anomaly. */
const SHOWN = 3

/** A verdict as text: anomalies that are not admitted with their witnesses, admitted ones as a count. */
export function explain({ anomalies, admitted }: Verdict): string {
  if (anomalies.size === 0) return 'no anomaly'
  const lines: string[] = []
  for (const [anomaly, witnesses] of anomalies) {
    if (admitted.has(anomaly)) lines.push(`${anomaly}: ${witnesses.length}, admitted`)
    else lines.push(`${anomaly}: ${witnesses.length}`, ...witnesses.slice(0, SHOWN).map(counterexampleText))
  }
  return lines.join('\n')
}

function counterexampleText({ says, events }: Counterexample): string {
  return [`  ${says}`, ...events.map((event) => `    ${eventText(event)}`)].join('\n')
}

function eventText({ at, proc, f, ...rest }: HistoryEvent): string {
  const told = Object.entries(rest).flatMap(([name, value]) => (value === undefined ? [] : `${name}=${String(value)}`))
  return [at, proc, f, ...told].join(' ')
}

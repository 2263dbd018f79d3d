import type { Command } from 'commander'
import { observedReport, type ObservedExample, type ObservedReport } from '../src/index.ts'
import { isoTime } from '../src/foundation/clock.ts'
import { ageText } from './age.ts'
import { EXIT, refusal } from './exit.ts'
import { printJson, printText, printable, table } from './output.ts'
import { addSessionOptions, runs, type End, type Session, titleOf } from './session.ts'
import { countedText } from '../src/core/counted-text.ts'

const EXAMPLES = `
Examples:
  consume-once report sms-sender          what mode 'enforce' would have done with its messages
  consume-once report sms-sender --json   all counts, for a script

The report is at most 10 s old, and adds up every process that ran the consumer in mode 'observe'.

Exit code 0: shown. 2: usage. 3: there is no report yet. 4: the store cannot be reached.`

export function addReport(program: Command, end: End): void {
  const command = program
    .command('report')
    .description("Shows what mode 'observe' has seen of a consumer.")
    .argument('<consumer>', 'name of a consumer of the config, or group/name')
  runs(addSessionOptions(command), end, EXAMPLES, show)
}

async function show(session: Session, name: string): Promise<number> {
  const entry = session.consumer(name)
  const report = await session.answer(observedReport(entry.consumer, entry.subscription))
  if (report === undefined) {
    throw refusal(`no report of ${titleOf(entry)}: run it with mode: 'observe', and ask again after 10 s`)
  }
  if (session.isJson) printJson('report', { consumer: titleOf(entry), ...report })
  else printText(asText(titleOf(entry), report))
  return EXIT.ok
}

function asText(title: string, { since, until, counts, oldestMs, examples }: ObservedReport): string {
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0)
  const share = (count: number): string => (all === 0 ? '0 %' : `${((100 * count) / all).toFixed(1)} %`)
  const ages = oldestMs === undefined ? '' : `, up to ${ageText(oldestMs)} after the first run`
  const lines = [
    `${title}: ${countedText(all, 'message')} observed from ${isoTime(since)} to ${isoTime(until)}`,
    '',
    `${share(counts.duplicate)} would have been dropped as duplicates (${counts.duplicate})${ages}`,
    `${countedText(counts.conflict, 'conflict')}: same ID, another payload`,
    `${counts['dead-letter']} would have been dead-lettered`,
    `${counts['in-doubt']} in doubt, ${counts.busy} would have waited for another process`,
  ]
  if (counts.unknown > 0) lines.push(`${counts.unknown} not known: the store was not asked in time`)
  if (examples.length === 0) return lines.join('\n')
  const rows = examples.map(rowOf)
  return [...lines, '', table(['VERDICT', 'AT', 'PLACE', 'AGE', 'REASON', 'KEY'], rows)].join('\n')
}

function rowOf({ verdict, at, destination, position, ageMs, reason = '', key = '' }: ObservedExample): string[] {
  const age = ageMs === undefined ? '' : ageText(ageMs)
  return [verdict, isoTime(at), printable(`${destination} ${position}`), age, reason, key]
}

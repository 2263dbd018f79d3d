import { countedText } from '../core/counted-text.ts'
import { timeText } from '../foundation/time-text.ts'
import type { JournalEntry } from './journal.ts'
import type { RedriveEntry } from './redrive-record.ts'
import type { RedriveStatus } from './redrives.ts'
import type { ReplayStatus } from './report.ts'

export const REPORT_FORMATS = ['text', 'md', 'csv', 'json'] as const

export type ReportFormat = (typeof REPORT_FORMATS)[number]

const COLUMNS = ['part', 'position', 'key', 'before', 'bucket', 'outcome', 'detail', 'at'] as const

/** The report of a replay, line by line. `csv` and `json` (NDJSON) have one line for each message. */
export function reportLines(
  status: ReplayStatus,
  entries: AsyncIterable<JournalEntry>,
  format: ReportFormat,
): AsyncIterable<string> {
  const { id, consumer, from, left, of } = status
  const report = {
    event: 'replay',
    title: `Replay ${id} of ${consumer} from ${from}`,
    seen: `${countedText(of, 'message')} in the plan, ${left} not accounted for`,
    columns: COLUMNS,
    cells,
  }
  return linesOf(report, status, entries, format)
}

const REDRIVE_COLUMNS = ['part', 'position', 'key', 'reason', 'outcome', 'destination', 'at'] as const

/** The report of a redrive, as that of a replay: one line for each dead letter that was looked at. */
export function redriveReportLines(
  status: RedriveStatus,
  entries: AsyncIterable<RedriveEntry>,
  format: ReportFormat,
): AsyncIterable<string> {
  const { id, consumer, places, looked, of } = status
  const report = {
    event: 'redrive',
    title: `Redrive ${id} of ${consumer} from ${places.join(', ')}`,
    seen: `${countedText(of, 'dead letter')}, ${looked} looked at`,
    columns: REDRIVE_COLUMNS,
    cells: ({ part, position, key = '', reason = '', outcome, destination = '', at }: RedriveEntry) => {
      return [part, position, key, reason, outcome, destination, timeText(at)]
    },
  }
  return linesOf(report, status, entries, format)
}

interface Report<Entry> {
  readonly event: string
  readonly title: string
  readonly seen: string
  readonly columns: readonly string[]
  readonly cells: (entry: Entry) => readonly string[]
}

type Told = Pick<RedriveStatus, 'by' | 'reason' | 'startedAt' | 'endedAt' | 'because'> & {
  readonly status: string
  readonly totals: Readonly<Record<string, number>>
}

async function* linesOf<Entry>(
  report: Report<Entry>,
  status: Told,
  entries: AsyncIterable<Entry>,
  format: ReportFormat,
): AsyncIterable<string> {
  if (format === 'json') {
    yield JSON.stringify({ schema_version: 1, event: report.event, ...status })
    for await (const entry of entries) yield JSON.stringify({ event: 'message', ...entry })
    return
  }
  if (format === 'csv') {
    yield report.columns.join(',')
    for await (const entry of entries) {
      yield report
        .cells(entry)
        .map((cell) => csvCell(withoutFormula(cell)))
        .join(',')
    }
    return
  }
  yield* head(report, status, format)
  for await (const entry of entries) {
    const row = report.cells(entry)
    yield format === 'md' ? `| ${row.map(mdCell).join(' | ')} |` : row.map(plain).join('  ')
  }
}

function* head(
  { title, seen, columns }: Report<never>,
  { by, reason, startedAt, endedAt, because, totals, status }: Told,
  format: 'text' | 'md',
): Iterable<string> {
  const isMarkdown = format === 'md'
  yield `${isMarkdown ? '# ' : ''}${title}: ${status}${because === undefined ? '' : ` (${because})`}`
  yield ''
  const facts = [
    `by ${by}: ${reason}`,
    `from ${timeText(startedAt)} to ${endedAt === undefined ? 'now' : timeText(endedAt)}`,
    seen,
    ...Object.entries(totals).map(([outcome, count]) => `${outcome}: ${count}`),
  ]
  for (const fact of facts) yield `${isMarkdown ? '- ' : ''}${plain(fact)}`
  yield ''
  if (!isMarkdown) return
  yield `| ${columns.join(' | ')} |`
  yield `| ${columns.map(() => '---').join(' | ')} |`
}

function cells({ part, position, key, before, bucket, outcome, detail, at }: JournalEntry): readonly string[] {
  return [part, position, key ?? '', before, bucket, outcome, detail ?? '', timeText(at)]
}

/** Details come from errors: they must not break a line or move a cursor. */
function plain(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, ' ')
}

function mdCell(text: string): string {
  return plain(text).replaceAll('|', '\\|')
}

/** A spreadsheet takes such a text for a formula. Details come from errors. */
function withoutFormula(text: string): string {
  return /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
}

/** RFC 4180. */
function csvCell(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

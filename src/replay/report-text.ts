import { timeText } from '../foundation/time-text.ts'
import type { JournalEntry } from './journal.ts'
import type { ReplayStatus } from './report.ts'

export const REPORT_FORMATS = ['text', 'md', 'csv', 'json'] as const

export type ReportFormat = (typeof REPORT_FORMATS)[number]

const COLUMNS = ['part', 'position', 'key', 'before', 'bucket', 'outcome', 'detail', 'at'] as const

/** The report of a replay, line by line. `csv` and `json` (NDJSON) have one line for each message. */
export async function* reportLines(
  status: ReplayStatus,
  entries: AsyncIterable<JournalEntry>,
  format: ReportFormat,
): AsyncIterable<string> {
  if (format === 'json') {
    yield JSON.stringify({ schema_version: 1, event: 'replay', ...status })
    for await (const entry of entries) yield JSON.stringify({ event: 'message', ...entry })
    return
  }
  if (format === 'csv') {
    yield COLUMNS.join(',')
    for await (const entry of entries) {
      const detail = withoutFormula(entry.detail)
      yield cells({ ...entry, detail })
        .map(csvCell)
        .join(',')
    }
    return
  }
  yield* head(status, format)
  for await (const entry of entries) {
    const row = cells(entry)
    yield format === 'md' ? `| ${row.map(mdCell).join(' | ')} |` : row.map(plain).join('  ')
  }
}

function* head(status: ReplayStatus, format: 'text' | 'md'): Iterable<string> {
  const { id, consumer, from, by, reason, startedAt, endedAt, because, left, totals, of } = status
  const isMarkdown = format === 'md'
  yield `${isMarkdown ? '# ' : ''}Replay ${id} of ${consumer} from ${from}: ${status.status}${because === undefined ? '' : ` (${because})`}`
  yield ''
  const facts = [
    `by ${by}: ${reason}`,
    `from ${timeText(startedAt)} to ${endedAt === undefined ? 'now' : timeText(endedAt)}`,
    `${of} messages in the plan, ${left} not accounted for`,
    ...Object.entries(totals).map(([outcome, count]) => `${outcome}: ${count}`),
  ]
  for (const fact of facts) yield `${isMarkdown ? '- ' : ''}${plain(fact)}`
  yield ''
  if (!isMarkdown) return
  yield `| ${COLUMNS.join(' | ')} |`
  yield `| ${COLUMNS.map(() => '---').join(' | ')} |`
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
function withoutFormula(text: string | undefined): string | undefined {
  return text !== undefined && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
}

/** RFC 4180. */
function csvCell(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

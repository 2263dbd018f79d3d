import type { End, History, HistoryEvent } from './history.ts'

type EndLine = Omit<End, 'records'> & {
  readonly f: 'end'
  readonly records: readonly (readonly [string, RecordState])[]
}
type RecordState = End['records'] extends ReadonlyMap<string, infer State> ? State : never

/** A history as JSON lines without line breaks: one for each event and one for its end. */
export function* toLines({ events, end }: History): Generator<string> {
  for (const event of events) yield JSON.stringify(event, told)
  const last: EndLine = { f: 'end', ...end, records: [...end.records] }
  yield JSON.stringify(last, told)
}

/** Reads the lines of `toLines()`; empty lines are skipped. */
export function fromLines(lines: Iterable<string>): History {
  const events: HistoryEvent[] = []
  let end: End | undefined
  for (const line of lines) {
    if (line === '') continue
    if (end !== undefined) throw new TypeError('a history ends with its line of the end, but more follows')
    const event = JSON.parse(line, read) as HistoryEvent | EndLine
    if (event.f !== 'end') events.push(event)
    else {
      const { isDrained, unsettled, records, at } = event
      end = { isDrained, unsettled, records: new Map(records), at }
    }
  }
  if (end === undefined) throw new TypeError('a history has a line of the end, but this has none: it was cut off')
  return { events, end }
}

/** JSON has no bigint, and it would write `null` for NaN, which is before any time. */
function told(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return { bigint: String(value) }
  if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError(`a history cannot tell ${value}`)
  return value
}

function read(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('bigint' in value)) return value
  return BigInt(value.bigint as string)
}

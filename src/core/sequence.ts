/** Numbers `from` to `to`, both included. */
interface Span {
  readonly from: bigint
  readonly to: bigint
}

/**
 * What is remembered of one source of numbered messages: the highest number that is done, and the gaps below it. Its
 * size depends on the gaps, not on the messages.
 */
export interface SourceRecord {
  /** Lower numbers are forgotten: there were more gaps than may be kept, and the lowest of them lay below this one. */
  readonly floor: bigint
  /** One above the highest number that is done. */
  readonly next: bigint
  /** The numbers from `floor` to `next` that are not done: ascending, with at least one done number between two. */
  readonly gaps: readonly Span[]
}

/**
 * `new`: not done. `done`: a message with this number is done, whatever its payload was. `forgotten`: it may be done or
 * not.
 */
export type NumberVerdict = 'new' | 'done' | 'forgotten'

/** The highest number: eight bytes without a sign. */
export const HIGHEST_NUMBER: bigint = 2n ** 64n - 1n

/**
 * A source without a record. Every number is new, also those below the first one that is seen: it proves nothing about
 * them.
 */
export const UNKNOWN_SOURCE: SourceRecord = { floor: 0n, next: 0n, gaps: [] }

/** A gap is never a duplicate: only a number that was added is `done`. */
export function verdictOn({ floor, next, gaps }: SourceRecord, number: bigint): NumberVerdict {
  if (number < floor) return 'forgotten'
  return number >= next || isIn(gaps, number) ? 'new' : 'done' // mutant: gap-taken-for-done
}

/**
 * A message with this number is done. Changes nothing where the number is done already or forgotten. If there are more
 * than `maxGaps` gaps, forgets the lowest of them, with all numbers below.
 */
export function withDone(record: SourceRecord, number: bigint, maxGaps: number): SourceRecord {
  if (verdictOn(record, number) !== 'new') return record
  const { floor, next, gaps } = record
  if (number >= next) {
    const skipped = number > next ? [{ from: next, to: number - 1n }] : []
    return withinLimit({ floor, next: number + 1n, gaps: [...gaps, ...skipped] }, maxGaps)
  }
  return withinLimit({ floor, next, gaps: gaps.flatMap((gap) => without(gap, number)) }, maxGaps)
}

/**
 * The numbers that a batch moved out of the tail, the newest `tail` numbers of a source, and that are done: from now on
 * the source's record alone knows them.
 *
 * @param added - the numbers of the batch
 */
export function leftTail(
  before: SourceRecord,
  after: SourceRecord,
  { added, tail }: { readonly added: readonly bigint[]; readonly tail: number },
): readonly bigint[] {
  const start = startOfTail(after, tail)
  const left = new Set(added)
  for (let number = startOfTail(before, tail); number < before.next && number < start; number++) left.add(number)
  return [...left].filter((number) => number < start && verdictOn(after, number) === 'done')
}

/** `S1|floor|next|from-to,from-to`, in decimal digits; a gap of one number has no `-to`. */
export function sourceText({ floor, next, gaps }: SourceRecord): string {
  const spans = gaps.map(({ from, to }) => (from === to ? String(from) : `${from}-${to}`))
  return `S1|${floor}|${next}|${spans.join(',')}`
}

/** The record in a text; `undefined`: it is damaged, or of a newer version. */
export function readSource(text: string): SourceRecord | undefined {
  const [, floor, next, spans] = /^S1\|(\d{1,20})\|(\d{1,20})\|([\d,-]*)$/.exec(text) ?? []
  if (floor === undefined || next === undefined || spans === undefined) return undefined
  const gaps = spans === '' ? [] : spans.split(',').map(readSpan)
  if (!areSpans(gaps)) return undefined
  const record = { floor: BigInt(floor), next: BigInt(next), gaps }
  return isSound(record) ? record : undefined
}

function startOfTail({ next }: SourceRecord, tail: number): bigint {
  const length = BigInt(tail)
  return next > length ? next - length : 0n
}

/** Gaps may be a thousand, and a claim asks about each of its messages. */
function isIn(gaps: readonly Span[], number: bigint): boolean {
  let [low, high] = [0, gaps.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    const gap = gaps[middle]
    if (gap === undefined || gap.to >= number) high = middle
    else low = middle + 1
  }
  const gap = gaps[low]
  return gap !== undefined && gap.from <= number
}

function without({ from, to }: Span, number: bigint): readonly Span[] {
  if (number < from || number > to) return [{ from, to }]
  const parts = [
    { from, to: number - 1n },
    { from: number + 1n, to },
  ]
  return parts.filter((part) => part.from <= part.to)
}

function withinLimit(record: SourceRecord, maxGaps: number): SourceRecord {
  const excess = record.gaps.length - maxGaps
  const last = record.gaps[excess - 1]
  return last === undefined ? record : { ...record, floor: last.to + 1n, gaps: record.gaps.slice(excess) }
}

function readSpan(text: string): Span | undefined {
  const [, from, to = from] = /^(\d{1,20})(?:-(\d{1,20}))?$/.exec(text) ?? []
  return from === undefined || to === undefined ? undefined : { from: BigInt(from), to: BigInt(to) }
}

function areSpans(spans: readonly (Span | undefined)[]): spans is readonly Span[] {
  return !spans.includes(undefined)
}

function isSound({ floor, next, gaps }: SourceRecord): boolean {
  let lowest = floor
  for (const { from, to } of gaps) {
    if (from < lowest || to < from) return false
    lowest = to + 2n
  }
  return lowest <= next && next <= HIGHEST_NUMBER + 1n
}

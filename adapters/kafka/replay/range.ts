import { ReplayError, type AskedRange, type EpochMs, type LogBounds, type ReplayRange } from '../../../src/internal.ts'
import { topicSettings } from '../checkup/asked.ts'
import type { Admin } from '../client.ts'
import type { LogPlace } from './log-place.ts'

interface Span {
  readonly part: string
  readonly from: bigint
  readonly to: bigint
}

interface Bounds extends LogBounds {
  readonly partition: number
}

/**
 * The offsets that were asked for, as far as they exist now. The end is that of committed messages: messages of an open
 * transaction are not part of the range.
 *
 * @throws ReplayError `REPLAY_RANGE_LOST` if the broker has deleted offsets that were asked for by `from`
 */
export async function rangeOf(
  admin: Admin,
  { topic, partition: only }: LogPlace,
  asked: AskedRange,
): Promise<ReplayRange> {
  const answer = await admin.fetchTopicOffsets(topic)
  const bounds = answer
    .filter(({ partition }) => only === undefined || partition === only)
    .map(({ partition, low, high }) => ({ partition, low: BigInt(low), high: BigInt(high) }))
    .toSorted((a, b) => a.partition - b.partition)
  refuseDeleted(topic, bounds, asked.from)
  const since = await offsetsAt(admin, topic, asked.since)
  const clock = await clockOf(admin, topic, asked)
  // A producer whose clock is ahead would end the range before messages that were asked for: their timestamps decide.
  const until = await offsetsAt(admin, topic, clock === 'broker' ? asked.until : undefined)
  const spans = bounds.map(({ partition, low, high }): Span => {
    const from = [low, asked.from, since?.get(partition)].filter(isGiven).reduce(later)
    const to = [high, asked.to, until?.get(partition)].filter(isGiven).reduce(earlier)
    return { part: `${topic}/${partition}`, from, to: to > from ? to : from }
  })
  const cut = asked.max === undefined ? spans : firstOf(spans, BigInt(asked.max))
  const warnings = [
    ...warningsOfTime(topic, clock, asked),
    ...warningsOfDeleted(topic, bounds, spans, asked),
    ...warningsOfMax(spans, cut),
  ]
  return { parts: cut.map(({ part, from, to }) => ({ part, from: String(from), to: String(to) })), warnings }
}

function refuseDeleted(topic: string, bounds: readonly Bounds[], from: bigint | undefined): void {
  const lost = bounds.filter(({ low }) => from !== undefined && from < low)
  if (lost.length === 0) return
  const begins = lost.map(({ partition, low }) => `${topic}/${partition} begins at ${low}`).join(', ')
  const text = `the broker has deleted messages from offset ${from}: ${begins}. Ask for what is there: from a later offset, or without one`
  throw new ReplayError('REPLAY_RANGE_LOST', text)
}

/** For each partition the first offset whose timestamp is at or after `at`; its end if there is none. */
async function offsetsAt(
  admin: Admin,
  topic: string,
  at: EpochMs | undefined,
): Promise<ReadonlyMap<number, bigint> | undefined> {
  if (at === undefined) return undefined
  const offsets = await admin.fetchTopicOffsetsByTimestamp(topic, at)
  return new Map(offsets.map(({ partition, offset }) => [partition, BigInt(offset)]))
}

/** The first `max` offsets, spread evenly. Offsets may have no message, so this is the most that can be read. */
function firstOf(spans: readonly Span[], max: bigint): readonly Span[] {
  const ends = new Map<string, bigint>()
  let left = max
  const smallestFirst = spans.toSorted((a, b) => Number(a.to - a.from - (b.to - b.from)))
  for (const [index, { part, from, to }] of smallestFirst.entries()) {
    const count = earlier(to - from, left / BigInt(spans.length - index))
    ends.set(part, from + count)
    left -= count
  }
  return spans.map((span) => ({ ...span, to: ends.get(span.part) ?? span.to }))
}

/** Whose clock set the timestamps; `undefined`: not asked for, or not known. */
async function clockOf(
  admin: Admin,
  topic: string,
  { since, until }: AskedRange,
): Promise<'broker' | 'producer' | undefined> {
  if (since === undefined && until === undefined) return undefined
  const settings = await topicSettings(admin, topic)
  const type = settings.isTold ? settings.value.get('message.timestamp.type') : undefined
  if (type === undefined) return undefined
  return type === 'LogAppendTime' ? 'broker' : 'producer'
}

function warningsOfTime(
  topic: string,
  clock: 'broker' | 'producer' | undefined,
  { since, until }: AskedRange,
): readonly string[] {
  if ((since === undefined && until === undefined) || clock === 'broker') return []
  const set =
    clock === undefined
      ? `Whose clocks set the timestamps of ${topic} is not known: its settings may not be read.`
      : `The timestamps of ${topic} are those of its producers' clocks (message.timestamp.type CreateTime).`
  const end = until === undefined ? '' : ' The topic is read to its end, and each message is selected by its timestamp.'
  return [
    `${set}${end} A clock that is wrong makes a range by time miss messages or include others; a range by offsets does not.`,
  ]
}

function warningsOfDeleted(
  topic: string,
  bounds: readonly Bounds[],
  spans: readonly Span[],
  { since, from }: AskedRange,
): readonly string[] {
  if (since === undefined || from !== undefined) return []
  const cut = bounds.filter(({ low }, index) => low > 0n && spans[index]?.from === low)
  if (cut.length === 0) return []
  const begins = cut.map(({ partition, low }) => `${topic}/${partition} at ${low}`).join(', ')
  return [`The range begins where the log begins (${begins}): the broker may have deleted messages of that time.`]
}

function warningsOfMax(spans: readonly Span[], cut: readonly Span[]): readonly string[] {
  const [all, kept] = [sizeOf(spans), sizeOf(cut)]
  if (kept === all) return []
  return [`The range is cut to ${kept} of ${all} offsets, spread evenly over the partitions, the oldest of each.`]
}

function sizeOf(spans: readonly Span[]): bigint {
  return spans.reduce((sum, { from, to }) => sum + to - from, 0n)
}

function isGiven(offset: bigint | undefined): offset is bigint {
  return offset !== undefined
}

function later(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

function earlier(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

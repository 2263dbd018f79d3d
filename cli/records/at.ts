import type { ConfiguredConsumer, Inspected } from '../../src/index.ts'
import type { Key, ReplayItem } from '../../src/internal.ts'
import { ReplayedConsumer } from '../../src/replay/place.ts'
import { readAt } from '../../src/replay/read-at.ts'
import { CommandError, EXIT } from '../exit.ts'
import { printable } from '../output.ts'
import type { Session } from '../session.ts'
import { adminFor } from './refs.ts'

/** One message of a topic, with its record. */
export interface Found {
  readonly item: ReplayItem
  /** Text: why the message has no key. */
  readonly record: Inspected | string
  /** The record is of another message with the same ID. */
  readonly isConflict: boolean
}

interface Position {
  readonly topic: string
  readonly partition: string
  readonly offset: bigint
}

/** Reads the message at `topic/partition/offset` from the broker. Changes nothing. */
export async function findAt(session: Session, entry: ConfiguredConsumer, text: string): Promise<Found> {
  const position = positionIn(text)
  const of = new ReplayedConsumer(entry.consumer, entry.subscription)
  const place = `${systemOf(entry)}:${position.topic}@${position.partition}`
  const stop = new AbortController()
  try {
    const item = await session.answer(readAt(of, { place, offset: position.offset, signal: stop.signal }))
    if (item === undefined) throw new CommandError(EXIT.findings, `--at ${printable(text)}: ${NOTHING}`)
    const key = await of.keyOf(item.message)
    if (typeof key !== 'string') return { item, record: key.detail, isConflict: false }
    const record = await recordOf(session, entry, key)
    return { item, record, isConflict: of.isConflict(item, record) }
  } finally {
    stop.abort()
  }
}

const NOTHING =
  'no message is there: the partition ends before it, or the offset was compacted away or belongs to a transaction'

function positionIn(text: string): Position {
  const [, topic, partition, offset] = /^([^/]+)\/(\d{1,9})\/(\d{1,18})$/.exec(text) ?? []
  if (topic !== undefined && partition !== undefined && offset !== undefined) {
    return { topic, partition, offset: BigInt(offset) }
  }
  throw new CommandError(EXIT.usage, `--at: expected topic/partition/offset, got ${JSON.stringify(text)}`)
}

function systemOf({ subscription: { replay } }: ConfiguredConsumer): string {
  if (replay === undefined) {
    const advice = 'expected a subscription by kafkaSubscription() in the config, which can read its topics again'
    throw new CommandError(EXIT.usage, `--at: ${advice}`)
  }
  if (replay.system !== 'rabbitmq') return replay.system
  const advice =
    'a message in a queue has no position; give its ID, or by --key the key in the header of its dead letter'
  throw new CommandError(EXIT.usage, `--at: ${advice}`)
}

async function recordOf(session: Session, entry: ConfiguredConsumer, key: Key): Promise<Inspected> {
  const [record] = await session.answer(adminFor(entry, {}).inspect([{ key }]))
  if (record === undefined) throw new TypeError('a key without a record or its absence (inspect --at)')
  return record
}

/** Where the message lies, for people. */
export function placeText({ item }: Found): string {
  const { part, position, message, timestamp, timestampOf, deadLetter } = item
  const arrived = timestamp === undefined ? 'at an unknown time' : new Date(timestamp).toISOString()
  const clock = timestampOf === 'producer' ? ' by the clock of its producer' : ''
  const size = message.value === null ? 'no payload' : `${message.value.length.toLocaleString('en')} bytes`
  const setAside = deadLetter === undefined ? '' : `, ${deadLetterText(deadLetter)}`
  return printable(`${part}/${position}: ${arrived}${clock}, ${size}, first published to ${message.origin}${setAside}`)
}

function deadLetterText({ parked, reason, consumer, group }: NonNullable<ReplayItem['deadLetter']>): string {
  const by = consumer === undefined ? '' : ` by ${group === undefined ? '' : `${group}/`}${consumer}`
  const why = reason === undefined ? '' : ` (${reason})`
  return `a dead letter, ${parked ? 'parked' : 'given up'}${by}${why}`
}

export function placeJson({ item, isConflict }: Found): Record<string, unknown> {
  const { part, position, message, timestamp, timestampOf, deadLetter } = item
  const { since, ...facts } = deadLetter ?? {}
  return {
    partition: part,
    position,
    origin: message.origin,
    at: timestamp === undefined ? undefined : new Date(timestamp).toISOString(),
    at_by: timestampOf,
    bytes: message.value?.length ?? null,
    conflict: isConflict,
    dead_letter:
      deadLetter === undefined
        ? undefined
        : { ...facts, since: since === undefined ? undefined : new Date(since).toISOString() },
  }
}

import type { ConfiguredConsumer } from '../../src/index.ts'
import type { ReplayItem } from '../../src/internal.ts'
import { countedText } from '../../src/core/counted-text.ts'
import { setAsideBy } from '../../src/replay/find/find.ts'
import { positionIn } from '../../src/replay/find/position.ts'
import { messageAt, NOTHING_THERE, type MessageAt } from '../../src/replay/find/read-at.ts'
import { CommandError, EXIT, misuse } from '../exit.ts'
import { printable } from '../output.ts'
import type { Session } from '../session.ts'

/** Reads the message at `topic/partition/offset` from the broker. Changes nothing. */
export async function findAt(
  session: Session,
  { consumer, subscription }: ConfiguredConsumer,
  text: string,
): Promise<MessageAt> {
  const position = positionIn(text)
  if (position === undefined) throw misuse(`--at: expected topic/partition/offset, got ${JSON.stringify(text)}`)
  const { replay } = subscription
  if (replay === undefined) {
    throw misuse('--at: expected a subscription by kafkaSubscription() in the config, which can read its topics again')
  }
  if (replay.system === 'rabbitmq') {
    throw misuse(
      '--at: a message in a queue has no position; give its ID, or by --key the key in the header of its dead letter',
    )
  }
  const found = await messageAt(consumer, subscription, position, (work) => session.answer(work()))
  if (found === undefined) throw new CommandError(EXIT.findings, `--at ${printable(text)}: ${NOTHING_THERE}`)
  return found
}

/** Where the message lies, for people. */
export function placeText({ item }: MessageAt): string {
  const { part, position, message, timestamp, timestampOf, deadLetter } = item
  const arrived = timestamp === undefined ? 'at an unknown time' : new Date(timestamp).toISOString()
  const clock = timestampOf === 'producer' ? ' by the clock of its producer' : ''
  const size = message.value === null ? 'no payload' : countedText(message.value.length, 'byte')
  const setAside = deadLetter === undefined ? '' : `, ${deadLetterText(deadLetter)}`
  return printable(`${part}/${position}: ${arrived}${clock}, ${size}, first published to ${message.origin}${setAside}`)
}

export function deadLetterText(deadLetter: DeadLetter): string {
  const { parked, reason } = deadLetter
  const name = setAsideBy(deadLetter)
  const by = name === undefined ? '' : ` by ${name}`
  const why = reason === undefined ? '' : ` (${reason})`
  return `a dead letter, ${parked ? 'parked' : 'given up'}${by}${why}`
}

type DeadLetter = NonNullable<ReplayItem['deadLetter']>

export function placeJson({ item, isConflict }: MessageAt): Record<string, unknown> {
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

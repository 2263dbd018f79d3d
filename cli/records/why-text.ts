import { ageOf } from '../age.ts'
import type { OutboxRefused } from '../../src/index.ts'
import type { Advice } from '../../src/people/advice.ts'
import type { AuditEntry } from '../../src/internal.ts'
import { countedText } from '../../src/core/counted-text.ts'
import { MEANING } from '../../src/people/meaning.ts'
import type { FoundMessage } from '../../src/replay/find/find.ts'
import { printable } from '../output.ts'
import { deadLetterText } from './at.ts'
import type { Inquiry } from './inquiry.ts'
import { dateOf } from './date.ts'
import { letterJson, placeOf } from './letter.ts'
import { recordJson, stateCell } from './show.ts'
import type { Known } from './search.ts'

type Row = readonly [name: string, value: string | number | undefined]

/** All that is known of the message at one consumer, for people. */
export function whyText({ consumer, record, letters, decisions, events, findings, advice }: Known): string {
  const { ref, key, idempotencyKey, origin, state } = record
  const rows: readonly Row[] = [
    ['message ID', typeof ref === 'string' ? ref : letters.find(({ id }) => id !== undefined)?.id],
    ['key', key],
    ['idempotency key', idempotencyKey],
    ['origin', origin ?? letters[0]?.origin],
    ['attempts', record.attempt],
    ['since', withAge(record.since)],
    ['not before', dateOf(record.notBefore)],
    ['kept until', dateOf(record.keepUntil)],
    ['fence', record.fence],
    ['trace', record.trace?.split('-')[1]],
    ['reason', record.reason],
    ['cause', record.cause ?? record.found],
    ...letters.map((letter): Row => ['dead letter', letterText(letter)]),
    ...events.map((one): Row => ['outbox', eventText(one)]),
    ...decisions.map((one): Row => ['decision', decisionText(one)]),
  ]
  const shown = rows.filter(([, value]) => value !== undefined && value !== '')
  return [
    `${consumer}: ${stateCell(record)}: ${MEANING[state]}`,
    ...shown.map(([name, value]) => `  ${name.padEnd(NAME_WIDTH)}${printable(String(value))}`),
    ...(idempotencyKey === undefined ? [] : [ASK]),
    advice.text,
    ...advice.commands.flatMap(commandText),
    ...findings.flatMap(({ text, command }) => [printable(text), ...commandText(command)]),
  ].join('\n')
}

function commandText({ about, text }: Advice['commands'][number]): readonly string[] {
  return [`  ${about}:`, `    ${printable(text)}`]
}

const NAME_WIDTH = 17

const ASK =
  "The provider knows it by the idempotency key, if the handler gave it: it is the handler's ctx.idempotencyKey."

function letterText(letter: FoundMessage): string {
  const { timestamp, bytes, deadLetter, isConflict } = letter
  const at = withAge(deadLetter?.since ?? timestamp) ?? 'at an unknown time'
  const size = bytes === undefined ? 'no payload' : countedText(bytes, 'byte')
  const how = deadLetter === undefined ? '' : `, ${deadLetterText(deadLetter)}`
  const other = isConflict ? ', ANOTHER message with the same ID' : ''
  return `${placeOf(letter)}, ${at}${how}, ${size}${other}`
}

function eventText({ id, place, messageId, attempts, isParked, cause }: OutboxRefused): string {
  const state = isParked ? 'parked' : cause === undefined ? 'waits' : 'tried again'
  const why = cause === undefined ? '' : `, refused ${countedText(attempts, 'time')}: ${cause}`
  return `${id}: ${messageId} to ${place}, ${state}${why}`
}

function decisionText({ at, by, decision, before, reason }: AuditEntry): string {
  return `${withAge(at)} ${by}: ${decision} (was ${before}): ${reason}`
}

/** `2026-11-22T07:00:42.590Z (3 h ago)` */
function withAge(at: number | undefined): string | undefined {
  return at === undefined ? undefined : `${dateOf(at)} (${ageOf(at)} ago)`
}

interface Told {
  readonly what: string
  readonly known: readonly Known[]
  readonly inquiry: Inquiry
}

export function whyJson({ what, known, inquiry }: Told): Record<string, unknown> {
  return {
    message: what,
    found: known.map(({ consumer, scope, record, letters, decisions, events, findings, advice }) => ({
      consumer,
      scope,
      record: recordJson(record),
      dead_letters: letters.map(letterJson),
      decisions: decisions.map(({ at, by, decision, before, reason }) => ({
        at: dateOf(at),
        by,
        decision,
        before,
        reason,
      })),
      advice: advice.text,
      outbox: events.map(({ id, place, messageId, attempts, isParked, cause }) => ({
        id,
        place,
        message_id: messageId,
        attempts,
        parked: isParked,
        cause,
      })),
      next: [...advice.commands, ...findings.map(({ command }) => command)].map(({ about, text }) => ({
        about,
        command: text,
      })),
    })),
    looked: inquiry.lookedJson(),
    problems: inquiry.problems,
  }
}

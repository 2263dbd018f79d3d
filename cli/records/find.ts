import { InvalidArgumentError, type Command } from 'commander'
import type { ConfiguredConsumer } from '../../src/index.ts'
import { whyCommand } from '../../src/people/command-text.ts'
import { osUser } from '../../src/people/os-user.ts'
import { searchNote } from '../../src/replay/find/search-note.ts'
import { parseCondition } from '../../src/replay/expression.ts'
import type { FoundMessage } from '../../src/replay/find/find.ts'
import { problemOf, searchedPlaces, type SearchedPlace } from '../../src/replay/find/search.ts'
import { EXIT, misuse } from '../exit.ts'
import { Interrupts } from '../interrupts.ts'
import { printJson, printText, say, table } from '../output.ts'
import { parseList, parsePositive, parseTime } from '../parse.ts'
import { addSessionOptions, runs, titleOf, type End, type Session, type SessionFlags } from '../session.ts'
import { Inquiry } from './inquiry.ts'
import { adminFor } from './refs.ts'
import { dateOf } from './date.ts'
import { letterJson, placeOf } from './letter.ts'

type FindFlags = SessionFlags & {
  readonly consumer?: readonly string[]
  readonly where?: readonly string[]
  readonly text?: string
  readonly from?: readonly string[]
  readonly topics: boolean
  readonly since?: number
  readonly until?: number
  readonly limit: number
  readonly lookAtMost: number
}

const SHOWN = 20
const LOOKED_AT = 100_000

const HELP = `
Examples:
  consume-once find --where /orderId=4711                     dead letters of all consumers, by a field of the payload
  consume-once find --where '$message.header#/tenant=acme' --where '/to^=+49171' --consumer sms-sender
  consume-once find 4711 --since 24h                          anywhere in the payload, the headers or the key
  consume-once find 4711 --topics --since 2026-11-01T08:00Z --until 2026-11-01T09:00Z
  consume-once find --where /orderId=4711 --from rabbitmq:old.dead-letter --consumer mailer

A condition is that of \`replay plan --where\` (= != ^= *= |=), read by the decoder of the consumer; /pointer is a field of the payload.
Looks at the dead letters of each consumer; with --topics at its Kafka topics, too. Changes no record. Shows no payload, and an ID only of a
consumer with logIds. The audit has who searched by which field, never for what. A log is only read. The messages of a RabbitMQ queue are taken and handed back, as by \`redrive --dry-run\`;
notes say what that costs.

Exit code 0: found. 1: nothing was found. 2: usage. 4: a store or broker cannot be reached; what was found elsewhere is shown.`

export function addFind(program: Command, end: End): void {
  const command = program
    .command('find')
    .description('Finds messages by a part of them, in dead letters and topics.')
    .argument('[text]', 'as --text')
    .option('--where <condition>', 'only if /orderId=4711, or $message.header#/tenant=acme; repeated: all', conditions)
    .option('--text <text>', 'only with this text in the payload, a header or the key, as bytes of UTF-8')
    .option('--consumer <names...>', 'only these consumers of the config (default: all)', parseList)
    .option('--from <places...>', 'only these places: kafka:topic or rabbitmq:queue (default: dead letters)', parseList)
    .option('--topics', 'the Kafka topics of the consumers, too', false)
    .option('--since <time>', 'that arrived at or after: 2026-11-01T00:00Z, or how long ago: 24h', parseTime)
    .option('--until <time>', 'that arrived before', parseTime)
    .option('--limit <count>', 'messages to show, of each place', parsePositive, SHOWN)
    .option('--look-at-most <count>', 'messages to look at, in each place', parsePositive, LOOKED_AT)
  runs(addSessionOptions(command), end, HELP, find, { check: checked })
}

function conditions(text: string, before: readonly string[] = []): readonly string[] {
  const parsed = parseCondition(text)
  if (typeof parsed === 'string') throw new InvalidArgumentError(`Not a condition: ${parsed}.`)
  return [...before, text]
}

function checked(given: string | undefined, flags: FindFlags): void {
  const { where = [], text = given ?? '', from, topics, since, until } = flags
  if (given !== undefined && flags.text !== undefined) throw misuse('--text: expected it once, got an argument too')
  if (where.length === 0 && text === '') throw misuse('find: expected --where, or a text')
  if (from !== undefined && topics) throw misuse('--from: expected no --topics: it names all places')
  if (since !== undefined && until !== undefined && since >= until) {
    throw misuse('--since, --until: expected a time before --until, got a later one')
  }
}

interface FoundAt {
  readonly entry: ConfiguredConsumer
  readonly message: FoundMessage
}

async function find(session: Session, given: string | undefined, flags: FindFlags): Promise<number> {
  const { where, text = given, since, until, limit: findAtMost, lookAtMost } = flags
  const entries = flags.consumer?.map((name) => session.consumer(name)) ?? session.config.consumers
  using interrupts = new Interrupts()
  const inquiry = new Inquiry(interrupts.signal)
  if (entries.every((entry) => placesOf(entry, flags).length === 0)) {
    throw misuse(`find: ${entries.map(titleOf).join(', ')}: no place of dead letters that can be read: give --from`)
  }
  const found: FoundAt[] = []
  const unnoted: string[] = []
  for (const entry of entries.filter((one) => placesOf(one, flags).length > 0)) {
    const problem = await note(session, entry, { ...flags, ...(text === undefined ? {} : { text }) })
    if (problem !== undefined) unnoted.push(problem)
    const messages = await inquiry.find(placesOf(entry, flags), {
      selection: { where, since, until },
      text,
      lookAtMost,
      findAtMost,
    })
    found.push(...messages.map((message) => ({ entry, message })))
  }
  if (session.isJson) {
    const messages = found.map(foundJson)
    printJson('find', { messages, looked: inquiry.lookedJson(), problems: inquiry.problems, unnoted })
  } else {
    inquiry.tell()
    for (const problem of unnoted) say(`note: the audit does not have this search: ${problem}`)
    if (found.length > 0) printText(foundTable(found))
    const first = found.find(({ message: { state, deadLetter } }) => state !== 'absent' || deadLetter !== undefined)
    if (found.length === 0) {
      say('Nothing was found there.')
      if (text !== undefined) say(`If it is an ID or a key: ${whyCommand(text, flags.consumer)}`)
    } else if (first?.message.key !== undefined) {
      say(`What became of it: ${whyCommand(first.message.key, [titleOf(first.entry)])}`)
    }
  }
  if (interrupts.exitCode !== undefined) return interrupts.exitCode
  if (inquiry.isIncomplete) return EXIT.unreachable
  if (inquiry.looked.length === 0 && inquiry.problems.length > 0) return EXIT.usage
  return found.length === 0 ? EXIT.findings : EXIT.ok
}

/** Before anything is read: a person may search for what a payload has. Resolves with why the audit does not have it. */
async function note(session: Session, entry: ConfiguredConsumer, flags: FindFlags): Promise<string | undefined> {
  const { where, text, from, topics, since, until } = flags
  const places = from === undefined ? `dead letters${topics ? ' and topics' : ''}` : from.join(', ')
  const asNote = searchNote({ by: osUser(), where, text, places, since, until })
  try {
    const isNoted = asNote === undefined || (await session.answer(adminFor(entry, {}).note(asNote)))
    return isNoted ? undefined : `${titleOf(entry)}: its store keeps no notes`
  } catch (error) {
    return `${titleOf(entry)}: ${problemOf(entry, error).text}`
  }
}

function placesOf(entry: ConfiguredConsumer, { from, topics }: FindFlags): readonly SearchedPlace[] {
  return from?.map((one) => ({ entry, from: one })) ?? searchedPlaces(entry, { topics })
}

function foundTable(found: readonly FoundAt[]): string {
  const rows = found.map(({ entry, message }) => [
    titleOf(entry),
    placeOf(message),
    dateOf(message.deadLetter?.since ?? message.timestamp) ?? '',
    message.id ?? '',
    message.key ?? '',
    message.isConflict ? `conflict (${message.state ?? ''})` : (message.state ?? 'no usable ID'),
    message.deadLetter?.reason ?? '',
    message.idempotencyKey ?? '',
  ])
  return table(['CONSUMER', 'PLACE', 'TIME', 'ID', 'KEY', 'STATE', 'REASON', 'IDEMPOTENCY KEY'], rows)
}

function foundJson({ entry, message }: FoundAt): Record<string, unknown> {
  return { consumer: titleOf(entry), key: message.key, state: message.state, ...letterJson(message) }
}

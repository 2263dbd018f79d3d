import { Option, type Command } from 'commander'
import type { Admin, ConfiguredConsumer, RecordView } from '../../src/index.ts'
import { definitionOf } from '../../src/consumer/define-consumer.ts'
import type { ListedState, ListQuery, RecordPage } from '../../src/internal.ts'
import { EXIT, misuse } from '../exit.ts'
import { printJson, printText, say, table } from '../output.ts'
import { RAW_IDS, parsePositive, parseTime } from '../parse.ts'
import { addSessionOptions, runs, type End, type Session, titleOf, type SessionFlags } from '../session.ts'
import { findAt, placeJson, placeText } from './at.ts'
import { advise } from './advise.ts'
import { showOutbox } from './outbox.ts'
import { adminFor, recordsIn, refsOf, type Asked, type RefFlags } from './refs.ts'
import { recordJson, recordTable, type Shown } from './show.ts'
import { withLetters, type Listed } from './with-letters.ts'
import { EachOnce } from '../../src/records/each-once.ts'

const LISTED = ['parked', 'inDoubt', 'processing', 'givenUp', 'done'] as const
const STATES: Readonly<Record<(typeof LISTED)[number], ListedState>> = {
  parked: 'parked',
  inDoubt: 'in-doubt',
  processing: 'processing',
  givenUp: 'given-up',
  done: 'done',
}

const LISTED_AT_ONCE = 100

type InspectFlags = SessionFlags &
  RefFlags & { readonly [L in (typeof LISTED)[number]]?: true } & {
    readonly stats?: true
    readonly outbox?: true
    readonly deadLetters?: true
    /** topic/partition/offset */
    readonly at?: string
    /** Time before which a record was set aside. */
    readonly olderThan?: number
    readonly reason?: string
    readonly limit?: number
    readonly all?: true
    readonly after?: string
  }

const EXAMPLES = `
Examples:
  consume-once inspect sms-sender order-17            the record of a message
  consume-once inspect sms-sender U1nmhO_WlHMIQdRLsEpnZw           by its key; also by its idempotency key
  consume-once inspect sms-sender --at sms/3/1204     reads the message there, and shows its record
  consume-once inspect sms-sender --parked            messages that wait for a decision
  consume-once inspect sms-sender --given-up --older-than 1h --reason timeout
  consume-once inspect sms-sender --parked --dead-letters          with the key to ask the provider by
  consume-once inspect sms-sender --parked --all --json | jq -r '.records[].key' > keys
  consume-once inspect sms-sender --key - < keys      the same again, by key
  consume-once inspect sms-sender --stats             how many are in which state
  consume-once inspect sms-sender --outbox            what waits to be published, and what its broker refused and why

An ID is given as text; that of a CloudEvent as <bytes of source>:<source><id>.
Exit code 0: shown. 1: no message, or none with a usable ID, is there (--at). 2: usage. 3: the broker has deleted it (--at). 4: store or broker cannot be reached.`

export function addInspect(program: Command, end: End): void {
  const command = program
    .command('inspect')
    .description('Shows what is known of messages. Changes nothing.')
    .argument('<consumer>', 'name of a consumer of the config, or group/name')
    .argument('[ids...]', 'message IDs or keys, or - for standard input, one a line')
    .option('--parked', 'list messages that wait for a decision')
    .option('--in-doubt', 'list what was left without mark or release')
    .option('--processing', 'list what is claimed now')
    .option('--given-up', 'list what was dead-lettered')
    .addOption(new Option('--done', 'list what is done').hideHelp())
    .option('--at <position>', 'the message at topic/partition/offset, as logs show it: read from the broker')
    .option('--older-than <age>', 'in a list: set aside longer ago than 1h, or before 2026-11-01T00:00Z', parseTime)
    .option('--reason <text>', 'in a list: with this text in the reason or the cause')
    .option('--stats', 'count the records of each state, up to --limit')
    .option('--outbox', 'what its handlers have committed and no relay has published yet')
    .option('--limit <count>', 'records in a list (default: 100), or counted in each state (10000)', parsePositive)
    .option('--after <cursor>', 'the next page: `next` of the one before')
    .option('--all', 'every page of a list')
    .option('--dead-letters', 'in a list: look for the dead letter of each: its place, and the idempotency key')
  runs(addRefOptions(addSessionOptions(command)), end, EXAMPLES, inspect)
}

export function addRefOptions(command: Command): Command {
  return command
    .option('--key', 'the arguments are keys, or the first characters of keys, as logs and lists show them', false)
    .option(...RAW_IDS)
    .option('--origin <name>', 'the topic or queue the message was first published to, where IDs are in use in several')
}

async function inspect(session: Session, name: string, ids: readonly string[], flags: InspectFlags): Promise<number> {
  const entry = session.consumer(name)
  const admin = adminFor(entry, flags)
  const head = { consumer: titleOf(entry), scope: admin.scope }
  const states = LISTED.filter((listed) => flags[listed] === true).map((listed) => STATES[listed])
  const [state] = states
  const asked = [...states, ids[0], flags.stats, flags.at, flags.outbox].filter((one) => one !== undefined)
  if (asked.length !== 1) {
    throw misuse(
      'expected message IDs, or one of --parked, --in-doubt, --processing, --given-up, --stats, --at, --outbox',
    )
  }
  const filter = filterOf(flags, state)
  if (flags.deadLetters === true && state === undefined) {
    throw misuse('--dead-letters: expected a list; `why` looks for that of one message')
  }
  if (flags.outbox === true) return showOutbox(session, entry, head)
  if (flags.stats === true) return stats(session, admin, head, flags.limit)
  if (flags.at !== undefined) {
    if (flags.key || flags.origin !== undefined) {
      throw misuse('--at: expected neither --key nor --origin: the message itself tells')
    }
    return showAt(session, entry, flags.at, head)
  }
  if (flags.all === true && (state === undefined || flags.limit !== undefined || flags.after !== undefined)) {
    throw misuse('--all: expected a list, and neither --limit nor --after')
  }
  if (state !== undefined) {
    const page =
      flags.all === true || filter !== undefined
        ? await allOf({ session, admin }, state, filter)
        : await filled({ session, admin }, { ...pageOf(flags), state })
    return list({ session, entry }, flags.deadLetters === true ? await withLetters(entry, page) : page, {
      ...head,
      state,
      isFiltered: filter !== undefined,
    })
  }
  const refs = await refsOf({ session, admin, entry }, ids, flags)
  const records = await session.answer(admin.inspect(refs))
  if (session.isJson) printJson('inspect', { ...head, records: records.map(recordJson) })
  else show(records, { session, entry })
  return EXIT.ok
}

function show(records: readonly Shown[], about: Parameters<typeof advise>[1]): void {
  advise(records, about)
  printText(recordTable(records))
}

interface Head {
  readonly consumer: string
  readonly scope: string
}

async function showAt(session: Session, entry: ConfiguredConsumer, position: string, head: Head): Promise<number> {
  const found = await findAt(session, entry, position)
  const { record, isConflict } = found
  const isText = typeof record === 'string'
  if (session.isJson) {
    const shown = isText ? { records: [], no_id: record } : { records: [recordJson(record)] }
    printJson('inspect', { ...head, at: placeJson(found), ...shown })
  } else {
    printText(placeText(found))
    if (isText) say(`It has no usable message ID: ${record}. It is dead-lettered at each delivery`)
    else {
      if (isConflict) say('A conflict: this message has the ID of another one, and another payload. It does not run')
      show([record], { session, entry, isConflict })
    }
  }
  return isText ? EXIT.findings : EXIT.ok
}

type Filter = (record: RecordView) => boolean

/** A record that does not tell since when it is set aside is an old one. */
function filterOf(flags: InspectFlags, state: ListedState | undefined): Filter | undefined {
  const { olderThan, reason: text, limit, after } = flags
  if (olderThan === undefined && text === undefined) return undefined
  if (state === undefined || limit !== undefined || after !== undefined) {
    throw misuse('--older-than, --reason: expected a list, and neither --limit nor --after: they search every page')
  }
  if (olderThan !== undefined && state !== 'parked' && state !== 'given-up') {
    throw misuse(`--older-than: expected --parked or --given-up: what is ${state} has no such time`)
  }
  return ({ since = 0, reason = '', cause = '' }) =>
    (olderThan === undefined || since < olderThan) &&
    (text === undefined || reason.includes(text) || cause.includes(text))
}

function pageOf({ limit = LISTED_AT_ONCE, after }: InspectFlags): Pick<ListQuery, 'limit' | 'after'> {
  return { limit, after }
}

const WHERE_AN_INBOX_RUNS = `An inbox has no record of a message that runs: its row is in an open transaction.
  On Kafka the oldest unfinished message of a partition is at the committed offset of the group: --at topic/partition/offset reads it.
  The transactions: pg_stat_activity (state, xact_start) on Postgres, information_schema.innodb_trx on MariaDB and MySQL.`

function isInbox({ consumer }: ConfiguredConsumer): boolean {
  const { strategy } = definitionOf(consumer).store
  return strategy !== 'lease'
}

/** Goes on from page to page until it has a whole one: a store looks at a bounded number of records for each. */
async function filled({ session, admin }: Asked, { limit, after, state }: ListQuery): Promise<Listed> {
  const records: RecordPage['records'][number][] = []
  const once = new EachOnce()
  let next = after
  do {
    const page = await session.answer(admin.list({ state, limit: limit - records.length, after: next }))
    records.push(...once.of(page.records))
    next = page.next
  } while (next !== undefined && records.length < limit)
  return { records, next }
}

async function allOf(asked: Asked, state: ListedState, filter: Filter = () => true): Promise<Listed> {
  const records: RecordPage['records'][number][] = []
  for await (const record of recordsIn(asked, state)) if (filter(record)) records.push(record)
  return { records, next: undefined }
}

function list(
  { session, entry }: { readonly session: Session; readonly entry: ConfiguredConsumer },
  { records, next, isIncomplete = false }: Listed,
  { isFiltered, ...head }: Head & { readonly state: ListedState; readonly isFiltered: boolean },
): number {
  const hasMore = next !== undefined
  if (session.isJson) printJson('inspect', { ...head, records: records.map(recordJson), more: hasMore, next })
  else if (records.length > 0) show(records, { session, entry })
  else say(`No record of ${head.consumer} is ${head.state}${isFiltered ? ' and matches' : ''}.`)
  if (head.state === 'processing' && isInbox(entry)) say(WHERE_AN_INBOX_RUNS)
  // Also with JSON: a script that takes one page for the whole list would decide only a part.
  if (hasMore) say(`There may be more: --all, or --after '${next}'`)
  return isIncomplete ? EXIT.unreachable : EXIT.ok
}

async function stats(session: Session, admin: Admin, head: Head, limit: number | undefined): Promise<number> {
  const counts = await session.answer(admin.stats(limit))
  if (session.isJson) {
    const shown = Object.entries(counts).map(([state, { count, isAtLeast }]) => [
      state.replace('-', '_'),
      { count, is_at_least: isAtLeast },
    ])
    printJson('inspect', { ...head, stats: Object.fromEntries(shown) as Record<string, unknown> })
    return EXIT.ok
  }
  const rows = Object.entries(counts).map(([state, { count, isAtLeast }]) => [
    state,
    isAtLeast ? `${count} or more` : String(count),
  ])
  printText(table(['STATE', 'RECORDS'], rows))
  return EXIT.ok
}

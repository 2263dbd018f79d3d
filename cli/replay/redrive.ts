import { resolve } from 'node:path'
import { Option, type Command } from 'commander'
import { fileJournal } from '../../adapters/file/index.ts'
import { LACKS, redrive, REDRIVE_OUTCOMES, type RedriveOptions, type RedriveResult } from '../../src/replay/index.ts'
import { quoted } from '../../src/people/command-text.ts'
import type { ConfiguredConsumer } from '../../src/index.ts'
import { confirm } from '../confirm.ts'
import { EXIT, misuse } from '../exit.ts'
import { Interrupts } from '../interrupts.ts'
import { printJson, printText, printable, say, table } from '../output.ts'
import { parseList, parsePositive, readIds } from '../parse.ts'
import { deciderOf } from '../records/decider.ts'
import { keysFor, keysOfStore, wholeKeyOf } from '../records/refs.ts'
import { addSessionOptions, runs, type End, type Session, titleOf, type SessionFlags } from '../session.ts'
import { Meter } from '../meter.ts'
import { collect, parseRate } from './parse.ts'
import { idsText } from './plan-text.ts'
import { missingOf, missingText, type Asked } from './asked.ts'
import { checkOutboxFlags, redriveFromOutbox } from './redrive-outbox.ts'
import { addSelectionOptions, selectionOf, type SelectionFlags } from './plan.ts'
import { countedText } from '../../src/core/counted-text.ts'

type RedriveFlags = SessionFlags &
  SelectionFlags & {
    readonly from?: string
    readonly key?: readonly string[]
    readonly keysFrom?: string
    readonly destination?: string
    readonly allowDestination?: readonly string[]
    readonly treatUnknownAs?: 'handle'
    readonly maxReplays?: number
    readonly rate?: number
    readonly journal?: string
    readonly dryRun: boolean
    readonly reason?: string
    readonly by?: string
    readonly yes: boolean
    readonly outbox?: readonly string[]
  }

const HELP = `
Reopens the record of each dead letter, publishes the message to where it came from, with the same ID, and settles the dead letter after the broker
confirmed the copy. Shows what it would do first, then asks; --dry-run only shows. Sends back the dead letters of the preview and no others.

Examples:
  consume-once redrive sms --dry-run                                      what lies there, and where it would go
  consume-once redrive sms --reason 'fixed in 2.4.1'
  consume-once redrive sms --reason-is attempts-spent --since 24h --rate 50 --reason OPS-812 --yes
  consume-once redrive sms U1nmhO_WlHMIQdRLsEpnZw --reason OPS-812        only this message, by its key or its ID
  consume-once inspect sms --given-up --reason timeout --all --json | jq -r '.records[].key' > keys
  consume-once redrive sms --keys-from keys --reason OPS-812              only those
  consume-once redrive sms --from rabbitmq:old.dead-letter --destination sms --reason OPS-812
  consume-once redrive sms --outbox 17 18 --reason 'the topic is there now'   what its outbox could not publish
  consume-once redrive sms --outbox all --dry-run

With --outbox a relay of any process tries the messages now, with all their attempts: this one publishes nothing.

Exit code 0: redriven, or shown. 1: some were left, or one that you asked for is not there. 2: usage. 3: refused, or not confirmed. 4: broker or store cannot be reached; safe to repeat.`

export function addRedrive(program: Command, end: End): void {
  const command = program
    .command('redrive')
    .description('Sends dead letters back to where they came from.')
    .argument('<consumer>', 'name of a consumer of the config, or group/name')
    .argument('[messages...]', 'only these messages: IDs or keys')
    .option('--from <place>', 'kafka:topic or rabbitmq:queue (default: all dead-letter places of the consumer)')
    .option('--key <key>', 'only the message with this key, or idempotency key; may be repeated', collect)
    .option('--keys-from <file>', 'only the messages with these keys, one a line; - for standard input')
    .option('--dry-run', 'only show what it would do', false)
    .option('--destination <name>', 'for dead letters that do not tell where they came from')
    .option('--allow-destination <name>', 'a destination beside those of the consumer; may be repeated', collect)
    .addOption(new Option('--treat-unknown-as <what>', 'whose record may have been removed').choices(['handle']))
    .option('--max-replays <count>', 'a message that was redriven as often is left (default: 2)', parsePositive)
    .option('--rate <per second>', 'dead letters in a second', parseRate)
    .option('--journal <file>', 'one line for each dead letter (default: <ID>.journal.ndjson)')
    .option('--reason <text>', 'why, for the audit: a ticket, or a sentence; no payload, no secret')
    .option('--by <name>', 'who decides, for the audit (default: the user of the operating system)')
    .option(
      '--outbox <ids...>',
      'not dead letters, but what `inspect --outbox` lists as refused: IDs, or all',
      parseList,
    )
    .option('--yes', 'do not ask', false)
  addSessionOptions(addSelectionOptions(command)).addOption(
    new Option('--include <what...>', 'dead letters that lack what you select by: left out otherwise').choices(LACKS),
  )
  runs(command, end, HELP, redriveAny, {
    check: (_, messages, { outbox, ...flags }: RedriveFlags) => {
      if (outbox !== undefined) checkOutboxFlags(messages, flags)
    },
  })
}

async function redriveAny(
  session: Session,
  name: string,
  messages: readonly string[],
  flags: RedriveFlags,
): Promise<number> {
  const { outbox } = flags
  return outbox === undefined
    ? redriveDeadLetters(session, { name, messages, flags })
    : redriveFromOutbox(session, name, { ...flags, outbox })
}

interface Request {
  readonly name: string
  readonly messages: readonly string[]
  readonly flags: RedriveFlags
}

async function redriveDeadLetters(session: Session, { name, messages, flags }: Request): Promise<number> {
  const { dryRun, reason = '', by } = flags
  const decider = dryRun ? { by: '', reason } : deciderOf({ reason, ...(by === undefined ? {} : { by }) })
  const entry = session.consumer(name)
  const { from, destination, allowDestination, treatUnknownAs: unknown, maxReplays, rate, lookAtMost } = flags
  const asked = await askedBy(session, entry, messages, flags)
  const options: RedriveOptions = {
    ...selectionOf(flags),
    keys: asked.length === 0 ? undefined : asked.flatMap(({ keys }) => keys),
    from,
    destination,
    allowDestinations: allowDestination,
    unknown,
    maxReplays,
    rate,
    lookAtMost,
  }
  const go = async (how: Partial<RedriveOptions>): Promise<RedriveResult> => {
    const job = redrive(entry.consumer, entry.subscription, { ...options, ...how })
    interrupts.signal.addEventListener('abort', () => job.stop())
    const meter = new Meter(!session.isJson)
    for await (const { looked, of } of job) meter.show(looked, of, how.dryRun === true ? 'looked at' : 'redriven')
    meter.end()
    return job.result
  }
  using interrupts = new Interrupts()
  const foreseen = await go({ dryRun: true })
  const missing = missingOf(asked, foreseen)
  if (missing.length > 0) say(missingText(missing, asked.length))
  const isIncomplete = missing.length > 0 || (foreseen.ids !== undefined && foreseen.ids.found < foreseen.ids.asked)
  const end = (result: RedriveResult): number =>
    interrupts.exitCode ?? (isIncomplete || hasLeft(result) ? EXIT.findings : EXIT.ok)
  if (dryRun || foreseen.totals.redriven === 0) {
    if (session.isJson) printJson('redrive', { consumer: titleOf(entry), ...foreseen, dryRun })
    else printText(textOf(foreseen, dryRun ? 'redrive, dry run' : 'redrive, nothing to send back'))
    return end(foreseen)
  }
  if (!session.isJson && !flags.yes) say(textOf(foreseen, 'redrive, preview'))
  await confirm(`${entry.consumer.name} ${foreseen.totals.redriven}`, flags.yes)
  const result = await go({
    ...decider,
    dryRun: false,
    foreseen: foreseen.foreseen,
    journal: fileJournal(resolve(flags.journal ?? `${foreseen.id}.journal.ndjson`)),
  })
  tell(session, titleOf(entry), result)
  return end(result)
}

/** None: all. */
async function askedBy(
  session: Session,
  entry: ConfiguredConsumer,
  messages: readonly string[],
  { key, keysFrom, idsFrom }: RedriveFlags,
): Promise<readonly Asked[]> {
  if (keysFrom === '-' && idsFrom === '-') throw misuse('--keys-from, --ids-from: expected one of them to be a file')
  const of = keysOfStore(entry)
  const byKey = (option: string, given: readonly string[]): readonly Asked[] =>
    given.map((text) => ({ text, keys: [wholeKeyOf(option, text, of)] }))
  const asked = [
    ...byKey('--key', key ?? []),
    ...byKey('--keys-from', keysFrom === undefined ? [] : readIds('--keys-from', keysFrom)),
  ]
  for (const text of messages) asked.push({ text, keys: [...(await keysFor(session, entry, text, {}))] })
  return asked
}

function tell(session: Session, consumer: string, result: RedriveResult): void {
  if (session.isJson) printJson('redrive', { consumer, ...result })
  else printText(textOf(result, result.id))
  if (result.totals.redriven > 0) say(`Those that fail again: consume-once inspect ${consumer} --given-up`)
  say(`Each dead letter: consume-once replay report ${result.id} --format md`)
}

function hasLeft({ totals }: RedriveResult): boolean {
  return LEFT.some((outcome) => totals[outcome] > 0)
}

const LEFT = REDRIVE_OUTCOMES.filter(
  (outcome) => !['redriven', 'done', 'repeated', 'unconfirmed', ...LACKS, 'filtered'].includes(outcome),
)

const MEANS: Readonly<Record<keyof RedriveResult['totals'], string>> = {
  redriven: 'published to where it came from; it runs with all its attempts',
  done: 'its effect happened: nothing to do',
  parked: 'its effect may have happened: `resolve` it first',
  busy: 'somebody handles it now, or its record changed: redrive again later',
  conflict: 'the same ID was handled with another payload',
  'no-id': 'no usable message ID: it would fail again',
  unreadable: 'message or record cannot be read: it would fail again',
  unknown: 'no record, and it may be older than what the store remembers: --treat-unknown-as handle',
  looped: 'was redriven too often: --max-replays',
  repeated: 'another dead letter of the same message was redriven',
  'no-destination': 'its headers do not tell where it came from: --destination',
  'refused-destination': 'came from somewhere else: --allow-destination, as below',
  unconfirmed: 'was not in the preview, or would have been left then: redrive again',
  undated: 'no time, or one in the future, for --since and --until: --include undated',
  'no-reason': 'does not say why it was set aside, for --reason-is: --include no-reason',
  'no-field': 'lacks a field of --where: --include no-field',
  filtered: 'does not match what you asked for',
}

function textOf(result: RedriveResult, title: string): string {
  const { from, dryRun, status, because, ids, looked, totals, warnings, stopped } = result
  const { destinations, refusedDestinations, reasons, reasonsThere } = result
  const rows = Object.entries(totals)
    .filter(([outcome, count]) => count > 0 && outcome !== 'unconfirmed')
    .map(([outcome, count]) => [
      dryRun && outcome === 'redriven' ? 'to redrive' : outcome,
      count.toLocaleString('en'),
      MEANS[outcome as keyof typeof MEANS],
    ])
  return [
    `${title}: ${from.map(printable).join(', ')}, ${countedText(looked, 'dead letter')}${stopped ? `, ${status} (${because ?? ''})` : ''}`,
    ...(rows.length === 0 ? [] : [table(['DEAD LETTERS', 'COUNT', 'MEANS'], rows)]),
    ...Object.entries(refusedDestinations).map(
      ([name, count]) =>
        `from ${printable(name)}: ${count.toLocaleString('en')}; send back by --allow-destination=${quoted(name)}`,
    ),
    ...idsText(ids),
    ...(dryRun ? [...countsOf('to', destinations), ...reasonsText(reasonsThere, reasons)] : []),
    ...warnings.map((warning) => `note: ${warning}`),
  ].join('\n')
}

/** What `--reason-is` may select. */
function reasonsText(there: Counts, redriven: Counts): readonly string[] {
  return Object.entries(there).map(([reason, count]) => {
    const going = redriven[reason] ?? 0
    const part = going === count ? '' : `, ${going.toLocaleString('en')} to redrive`
    return `reason ${printable(reason)}: ${count.toLocaleString('en')}${part}`
  })
}

type Counts = Readonly<Record<string, number>>

function countsOf(what: string, counts: Counts): readonly string[] {
  return Object.entries(counts).map(([text, count]) => `${what} ${printable(text)}: ${count.toLocaleString('en')}`)
}

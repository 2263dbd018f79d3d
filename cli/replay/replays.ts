import { Option, type Command } from 'commander'
import { fileJournal } from '../../adapters/file/index.ts'
import {
  entriesOf,
  redriveEntriesOf,
  redriveReportLines,
  redrivesOf,
  REPORT_FORMATS,
  replaysOf,
  reportLines,
  type Redrives,
  type RedriveStatus,
  type Replays,
  type ReplayStatus,
  type ReportFormat,
} from '../../src/replay/index.ts'
import { isConsumeOnceError } from '../../src/index.ts'
import { CommandError, EXIT } from '../exit.ts'
import { deciderOf, type DeciderFlags } from '../records/decider.ts'
import { printJson, printText, printable, say, table } from '../output.ts'
import { addSessionOptions, Session, type SessionFlags } from '../session.ts'

export interface Found {
  readonly replays: Replays
  readonly status: ReplayStatus
}

interface FoundRedrive {
  readonly redrives: Redrives
  readonly status: RedriveStatus
}

function isRedrive(found: Found | FoundRedrive): found is FoundRedrive {
  return 'redrives' in found
}

const EXAMPLES: Readonly<Record<string, string>> = {
  status: `
Examples:
  consume-once replay status                 the replays of every consumer of the config
  consume-once replay status 7f3a91c2 --json

Exit code 0: shown. 2: usage. 3: no such replay. 4: the store cannot be reached.`,
  pause: `
Examples:
  consume-once replay pause 7f3a91c2 --reason OPS-812   it ends running handlers and stops; resume it later

Exit code 0: it is paused, or its process was asked to. 3: no such replay, or it is over. 4: the store cannot be reached.`,
  abort: `
Examples:
  consume-once replay abort 7f3a91c2 --reason OPS-812   as pause, and it cannot be resumed

Exit code 0: it is aborted, or its process was asked to; it cannot be resumed. 3: no such replay, or it is over. 4: the store cannot be reached.`,
  report: `
Examples:
  consume-once replay report 7f3a91c2 --format md > report.md
  consume-once replay report 7f3a91c2 --format csv | grep ,failed,

Exit code 0: shown. 2: usage, or the journal is not here. 3: no such replay. 4: the store cannot be reached.`,
}

export function addReplays(replay: Command, exit: (code: number) => void): void {
  const add = (command: Command, work: (session: Session, flags: ReportFlags, id: string) => Promise<number>): void => {
    addSessionOptions(command)
      .addHelpText('after', EXAMPLES[command.name()] ?? '')
      .action(async (id: string, flags: ReportFlags) => {
        exit(await Session.run(flags, (session) => work(session, flags, id)))
      })
  }
  add(
    replay.command('status').description('Shows replays and redrives that were begun.').argument('[id]', 'one of them'),
    (session, _, id) => status(session, id),
  )
  add(whyOf(idOf(replay.command('pause').description('Pauses a replay or a redrive.'))), (session, flags, id) =>
    ask(session, id, 'pause', flags),
  )
  add(
    whyOf(idOf(replay.command('abort').description('Ends a replay or a redrive for good, running or paused.'))),
    (session, flags, id) => ask(session, id, 'abort', flags),
  )
  const report = idOf(replay.command('report').description('Tells what became of each message.'))
    .addOption(new Option('--format <format>', 'how').choices(REPORT_FORMATS).default('text'))
    .option('--journal <file>', 'where the journal is now (default: where the run wrote it)')
  add(report, tellReport)
}

function idOf(command: Command): Command {
  return command.argument('<id>', 'ID of the replay or redrive, or its first characters')
}

/** Optional: who stops a replay in a hurry does not look for a ticket. */
function whyOf(command: Command): Command {
  return command
    .option('--reason <text>', 'why, for the audit: a ticket, or a sentence', NO_REASON)
    .option('--by <name>', 'who asks, for the audit (default: the user of the operating system)')
}

const NO_REASON = 'no reason given'

type ReportFlags = SessionFlags &
  Partial<Pick<DeciderFlags, 'reason' | 'by'>> & { readonly format?: ReportFormat; readonly journal?: string }

/** Looks through the consumers of the config. @throws CommandError, exit 3: none or several, or it is a redrive */
export async function find(session: Session, id: string): Promise<Found> {
  const found = await findEither(session, id)
  if (!isRedrive(found)) return found
  const { id: whole, consumer } = found.status
  throw new CommandError(
    EXIT.refused,
    `${whole} is a redrive, which is not resumed: do what is left by consume-once redrive ${consumer}`,
  )
}

async function findEither(session: Session, id: string): Promise<Found | FoundRedrive> {
  const found = (await all(session)).filter(({ status: { id: whole } }) => whole.startsWith(id))
  const [one, another] = found
  if (one !== undefined && another === undefined) return one
  const known = found.map(({ status: { id: whole } }) => whole).join(', ')
  throw new CommandError(
    EXIT.refused,
    one === undefined
      ? `no replay or redrive ${JSON.stringify(id)} was begun by a consumer of this config`
      : `${JSON.stringify(id)} is the beginning of ${known}: give more characters`,
  )
}

async function all(session: Session): Promise<readonly (Found | FoundRedrive)[]> {
  const found: (Found | FoundRedrive)[] = []
  for (const { consumer, subscription } of session.config.consumers) {
    try {
      const replays = replaysOf(consumer, subscription)
      for (const one of await session.answer(replays.list())) found.push({ replays, status: one })
      const redrives = redrivesOf(consumer, subscription)
      for (const one of await session.answer(redrives.list())) found.push({ redrives, status: one })
    } catch (error) {
      // A consumer whose store keeps no replays has none.
      if (!isConsumeOnceError(error) || error.code !== 'CONFIG_INVALID') throw error
    }
  }
  return found
}

async function status(session: Session, id: string | undefined): Promise<number> {
  const shown = id === undefined ? await all(session) : [await findEither(session, id)]
  if (session.isJson) {
    printJson('replay status', {
      replays: shown.filter((one) => !isRedrive(one)).map((one) => one.status),
      redrives: shown.filter(isRedrive).map((one) => one.status),
    })
    return EXIT.ok
  }
  const rows = shown.map((one) => (isRedrive(one) ? redriveRow(one.status) : replayRow(one.status)))
  const heads = ['REPLAY', 'CONSUMER', 'FROM', 'STATUS', 'SEEN', 'HANDLED', 'FAILED', 'REDRIVEN', 'BEGUN', 'WHY']
  printText(rows.length === 0 ? 'no replay was begun' : table(heads, rows))
  return EXIT.ok
}

function replayRow(one: ReplayStatus): string[] {
  const counts = [String(one.totals.handled), String(one.totals.failed + one.totals.parked), '']
  return row({ ...one, seen: one.of - one.left, counts })
}

function redriveRow(one: RedriveStatus): string[] {
  const from = one.places.join(', ')
  return row({ ...one, from, seen: one.looked, counts: ['', '', String(one.totals.redriven)] })
}

interface Row extends Pick<ReplayStatus, 'id' | 'consumer' | 'from' | 'status' | 'of' | 'startedAt' | 'by' | 'reason'> {
  readonly because?: string | undefined
  readonly seen: number
  readonly counts: readonly string[]
}

function row(one: Row): string[] {
  return [
    one.id,
    one.consumer,
    printable(one.from),
    one.because === undefined ? one.status : `${one.status} (${printable(one.because)})`,
    `${one.seen.toLocaleString('en')}/${one.of.toLocaleString('en')}`,
    ...one.counts,
    new Date(one.startedAt).toISOString(),
    printable(`${one.by}: ${one.reason}`),
  ]
}

async function ask(
  session: Session,
  id: string,
  request: 'pause' | 'abort',
  { reason = NO_REASON, by }: ReportFlags,
): Promise<number> {
  const why = deciderOf({ reason, ...(by === undefined ? {} : { by }) })
  const found = await findEither(session, id)
  const { id: whole } = found.status
  const asking = isRedrive(found) ? found.redrives[request](whole, why) : found.replays[request](whole, why)
  const now = await session.answer<ReplayStatus | RedriveStatus>(asking)
  if (session.isJson) printJson(`replay ${request}`, { id: now.id, status: now.status, request: now.request })
  else say(`${isRedrive(found) ? '' : 'replay '}${now.id}: ${askedText(found.status, now)}`)
  return EXIT.ok
}

type Either = Pick<ReplayStatus, 'id' | 'status' | 'request'>

function askedText(before: Either, now: Either): string {
  if (now.status === 'paused' && before.status === 'paused') return 'was paused before; nothing was changed'
  if (now.status === 'paused' || now.status === 'aborted') return `is ${now.status}; no process ran it`
  const ifDead = now.request === 'abort' ? '; if that process has died, nobody can resume it all the same' : ''
  return `a process runs it, and sees this within seconds${ifDead}; look with: consume-once replay status ${now.id}`
}

async function tellReport(
  session: Session,
  { format = 'text', journal, json }: ReportFlags,
  id: string,
): Promise<number> {
  const found = await findEither(session, id)
  const path = journal ?? found.status.journal
  const how = json ? 'json' : format
  if (path === undefined) throw new CommandError(EXIT.usage, `${found.status.id} was begun without a journal`)
  try {
    const lines = isRedrive(found)
      ? redriveReportLines(found.status, redriveEntriesOf(fileJournal(path)), how)
      : reportLines(found.status, entriesOf(fileJournal(path)), how)
    for await (const line of lines) printText(line)
    return EXIT.ok
  } catch (cause) {
    if ((cause as { readonly code?: unknown }).code !== 'ENOENT') throw cause
    const problem = `the journal ${path} is not here: look on the machine of the run, and name it by --journal`
    throw new CommandError(EXIT.usage, problem, { cause })
  }
}

import { Option, type Command } from 'commander'
import { fileJournal } from '../../adapters/file/index.ts'
import { REPORT_FORMATS, type ReportFormat } from '../../src/replay/index.ts'
import { isRedrive, workInfo, workReport, worksOf, type Works, type WorkStatus } from '../../src/replay/works.ts'
import { isConsumeOnceError } from '../../src/index.ts'
import { EXIT, misuse, refusal } from '../exit.ts'
import { deciderOf, type DeciderFlags } from '../records/decider.ts'
import { printJson, printText, printable, say, table } from '../output.ts'
import { addSessionOptions, runs, type End, type Session, type SessionFlags } from '../session.ts'

export interface Found {
  readonly works: Works
  readonly status: WorkStatus
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

export function addReplays(replay: Command, end: End): void {
  const add = (command: Command, work: (session: Session, id: string, flags: ReportFlags) => Promise<number>): void =>
    runs(addSessionOptions(command), end, EXAMPLES[command.name()] ?? '', work)
  add(
    replay.command('status').description('Shows replays and redrives that were begun.').argument('[id]', 'one of them'),
    show,
  )
  const pause = idOf(replay.command('pause').description('Pauses a replay or a redrive.'))
  const abort = idOf(replay.command('abort').description('Ends a replay or a redrive for good, running or paused.'))
  for (const command of [pause, abort]) add(whyOf(command), ask(command.name() as 'pause' | 'abort'))
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
  if (!isRedrive(found.status)) return found
  const { id: whole, consumer } = found.status
  throw refusal(`${whole} is a redrive, which is not resumed: do what is left by consume-once redrive ${consumer}`)
}

async function findEither(session: Session, id: string): Promise<Found> {
  const found = (await all(session)).filter(({ status: { id: whole } }) => whole.startsWith(id))
  const [one, another] = found
  if (one !== undefined && another === undefined) return one
  const known = found.map(({ status: { id: whole } }) => whole).join(', ')
  throw refusal(
    one === undefined
      ? `no replay or redrive ${JSON.stringify(id)} was begun by a consumer of this config`
      : `${JSON.stringify(id)} is the beginning of ${known}: give more characters`,
  )
}

async function all(session: Session): Promise<readonly Found[]> {
  const found: Found[] = []
  for (const { consumer, subscription } of session.config.consumers) {
    try {
      const works = worksOf(consumer, subscription)
      for (const status of await session.answer(works.list())) found.push({ works, status })
    } catch (error) {
      // A consumer whose store keeps no replays has none.
      if (!isConsumeOnceError(error) || error.code !== 'CONFIG_INVALID') throw error
    }
  }
  return found
}

async function show(session: Session, id: string | undefined): Promise<number> {
  const shown = (id === undefined ? await all(session) : [await findEither(session, id)]).map((one) => one.status)
  if (session.isJson) {
    const redrives = shown.filter(isRedrive)
    printJson('replay status', { replays: shown.filter((one) => !isRedrive(one)), redrives })
    return EXIT.ok
  }
  const heads = ['REPLAY', 'CONSUMER', 'FROM', 'STATUS', 'SEEN', 'HANDLED', 'FAILED', 'REDRIVEN', 'BEGUN', 'WHY']
  printText(shown.length === 0 ? 'no replay was begun' : table(heads, shown.map(row)))
  return EXIT.ok
}

function row(one: WorkStatus): string[] {
  const { id, consumer, from, status: now, because, of, startedAt, by, reason } = workInfo(one)
  const seen = isRedrive(one) ? one.looked : of - one.left
  const counts = isRedrive(one)
    ? ['', '', String(one.totals.redriven)]
    : [String(one.totals.handled), String(one.totals.failed + one.totals.parked), '']
  return [
    id,
    consumer,
    printable(from),
    because === undefined ? now : `${now} (${printable(because)})`,
    `${seen.toLocaleString('en')}/${of.toLocaleString('en')}`,
    ...counts,
    new Date(startedAt).toISOString(),
    printable(`${by}: ${reason}`),
  ]
}

const ask =
  (request: 'pause' | 'abort') =>
  async (session: Session, id: string, { reason = NO_REASON, by }: ReportFlags): Promise<number> => {
    const why = deciderOf({ reason, ...(by === undefined ? {} : { by }) })
    const { works, status: before } = await findEither(session, id)
    const now = await session.answer(works[request](before.id, why))
    if (session.isJson) printJson(`replay ${request}`, { id: now.id, status: now.status, request: now.request })
    else say(`${isRedrive(now) ? '' : 'replay '}${now.id}: ${askedText(before, now)}`)
    return EXIT.ok
  }

function askedText(before: WorkStatus, now: WorkStatus): string {
  if (now.status === 'paused' && before.status === 'paused') return 'was paused before; nothing was changed'
  if (now.status === 'paused' || now.status === 'aborted') return `is ${now.status}; no process ran it`
  const ifDead = now.request === 'abort' ? '; if that process has died, nobody can resume it all the same' : ''
  return `a process runs it, and sees this within seconds${ifDead}; look with: consume-once replay status ${now.id}`
}

async function tellReport(
  session: Session,
  id: string,
  { format = 'text', journal, json }: ReportFlags,
): Promise<number> {
  const { status: found } = await findEither(session, id)
  const path = journal ?? found.journal
  const how = json ? 'json' : format
  if (path === undefined) throw misuse(`${found.id} was begun without a journal`)
  try {
    for await (const line of workReport(found, fileJournal(path), how)) printText(line)
    return EXIT.ok
  } catch (cause) {
    if ((cause as { readonly code?: unknown }).code !== 'ENOENT') throw cause
    const problem = `the journal ${path} is not here: look on the machine of the run, and name it by --journal`
    throw misuse(problem, { cause })
  }
}

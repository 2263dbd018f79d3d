import type { Command } from 'commander'
import { ageOf } from '../age.ts'
import type { Admin, ConfiguredConsumer } from '../../src/index.ts'
import type { AuditEntry, AuditPage, AuditQuery } from '../../src/internal.ts'
import { EXIT, misuse } from '../exit.ts'
import { printJson, printText, say, table } from '../output.ts'
import { parsePositive, parseTime } from '../parse.ts'
import { addSessionOptions, runs, type End, type Session, titleOf, type SessionFlags } from '../session.ts'
import { addRefOptions } from './inspect.ts'
import { KEY_LENGTH, keyIn } from '../../src/people/key-in.ts'
import { adminFor, checkKey, type RefFlags } from './refs.ts'

type AuditFlags = SessionFlags &
  RefFlags & {
    readonly limit?: number
    readonly after?: string
    readonly all?: true
    readonly by?: string
    readonly decision?: string
    readonly since?: number
    readonly until?: number
  }

const SHOWN_AT_ONCE = 100
const PAGE = 1_000

const HELP = `
Examples:
  consume-once audit sms-sender                 the newest decisions: resolve, reopen, forget, mark, release-hold, redrive,
                                                redrive --outbox, who paused or aborted what
  consume-once audit sms-sender order-17        all decisions about one message
  consume-once audit sms-sender --key U1nm      the same, by the first characters of its key
  consume-once audit sms-sender --by ana --since 24h
  consume-once audit sms-sender --decision resume --since 2026-11-01T00:00Z --until 2026-11-02T00:00Z
  consume-once audit sms-sender --all --json | jq -r '.entries[] | [.at, .by, .decision, .key] | @tsv'

JSON has the record as it was before each decision. Redis keeps the newest 10,000 or so, of all consumers.
Exit code 0: shown. 2: usage. 4: the store cannot be reached.`

export function addAudit(program: Command, end: End): void {
  const command = program
    .command('audit')
    .description('Shows who decided what about messages, when and why. Changes nothing.')
    .argument('<consumer>', 'name of a consumer of the config, or group/name')
    .argument('[id]', 'message ID: only decisions about this message')
    .option('--by <person>', 'only what this person did')
    .option('--decision <name>', 'only these decisions: reopen, or pause')
    .option('--since <time>', 'at or after: 2026-11-01T00:00Z, or how long ago: 24h', parseTime)
    .option('--until <time>', 'before', parseTime)
    .option('--limit <count>', `decisions to show (default: ${SHOWN_AT_ONCE})`, parsePositive)
    .option('--after <cursor>', 'the next page: `next` of the one before')
    .option('--all', 'every page')
  runs(addRefOptions(addSessionOptions(command)), end, HELP, audit)
}

async function audit(session: Session, name: string, id: string | undefined, flags: AuditFlags): Promise<number> {
  const entry = session.consumer(name)
  const admin = adminFor(entry, flags)
  if (id === undefined && flags.key) throw misuse('--key: expected a key, got none')
  if (flags.after !== undefined && (id !== undefined || flags.all === true)) {
    throw misuse('--after: expected neither an ID nor --all, which show every page')
  }
  if (flags.all === true && flags.limit !== undefined) {
    throw misuse('--all: expected no --limit')
  }
  const isChosen = Object.values(whichOf(flags)).some((one) => one !== undefined)
  const { entries, next } = await pageOf(session, { entry, admin, id, flags })
  if (session.isJson) {
    const shown = entries.map((one) => ({ ...one, at: new Date(one.at).toISOString() }))
    printJson('audit', { consumer: titleOf(entry), scope: admin.scope, entries: shown, more: next !== undefined, next })
  } else if (entries.length > 0) printText(auditTable(entries))
  else
    say(
      `No ${isChosen ? 'such ' : ''}decision${id === undefined ? '' : ' about this message'} is in the audit of ${titleOf(entry)}.`,
    )
  if (next !== undefined) say(`There are more: --all, or --after '${next}'`)
  return EXIT.ok
}

type Which = Omit<AuditQuery, 'limit' | 'after'>

function whichOf({ by, decision, since, until }: AuditFlags): Which {
  if (since !== undefined && until !== undefined && since >= until) {
    throw misuse('--since, --until: expected a time before --until, got a later one')
  }
  return { by, decision, since, until }
}

interface Asked {
  readonly entry: ConfiguredConsumer
  readonly admin: Admin
  readonly id: string | undefined
  readonly flags: AuditFlags
}

async function pageOf(session: Session, { entry, admin, id, flags }: Asked): Promise<AuditPage> {
  const { limit = SHOWN_AT_ONCE, all, after } = flags
  const which = whichOf(flags)
  if (id === undefined && all !== true) return session.answer(admin.audit({ ...which, limit, after }))
  const found: AuditEntry[] = []
  if (id === undefined) found.push(...(await allOf(session, admin, which)))
  else if (flags.key) found.push(...(await ofKey(session, admin, id, which)))
  else {
    for (const key of await keysOf(session, entry, id, flags)) {
      found.push(...(await allOf(session, admin, { ...which, key })))
    }
  }
  const entries = found.toSorted((a, b) => b.at - a.at)
  return { entries: flags.limit === undefined ? entries : entries.slice(0, flags.limit), next: undefined }
}

/** Compares beginnings with all decisions: the record of a key may be gone by now. */
async function ofKey(session: Session, admin: Admin, given: string, which: Which): Promise<readonly AuditEntry[]> {
  const text = keyIn(given) ?? given
  checkKey(text)
  if (text.length === KEY_LENGTH) return allOf(session, admin, { ...which, key: text })
  const found = (await allOf(session, admin, which)).filter(({ key }) => key.startsWith(text))
  const keys = new Set(found.map(({ key }) => key))
  if (keys.size <= 1) return found
  throw misuse(`--key ${JSON.stringify(text)}: ${keys.size} keys begin so; give more characters`)
}

async function allOf(session: Session, admin: Admin, which: Which): Promise<readonly AuditEntry[]> {
  const entries: AuditEntry[] = []
  let after: string | undefined
  do {
    const page = await session.answer(admin.audit({ ...which, limit: PAGE, after }))
    entries.push(...page.entries)
    after = page.next
  } while (after !== undefined)
  return entries
}

/** Its keys under every origin: its records may be gone by now. */
async function keysOf(
  session: Session,
  entry: ConfiguredConsumer,
  id: string,
  { origin }: RefFlags,
): Promise<ReadonlySet<string>> {
  const keys = new Set<string>()
  for (const one of origin === undefined ? entry.subscription.origins : [origin]) {
    const records = await session.answer(adminFor(entry, { origin: one }).inspect([id]))
    for (const { key } of records) keys.add(key)
  }
  return keys
}

function auditTable(entries: readonly AuditEntry[]): string {
  const rows = entries.map(({ at, by, decision, before, key, about, reason }) => [
    new Date(at).toISOString(),
    ageOf(at),
    by,
    decision,
    before,
    about ?? key,
    reason,
  ])
  return table(['AT', 'AGE', 'BY', 'DECISION', 'WAS', 'KEY', 'REASON'], rows)
}

import type { Command } from 'commander'
import { ageOf } from '../age.ts'
import type { Admin, ConfiguredConsumer } from '../../src/index.ts'
import type { AuditEntry, AuditPage, AuditQuery } from '../../src/internal.ts'
import { EXIT, misuse } from '../exit.ts'
import { printJson, printText, say, table } from '../output.ts'
import { parsePositive, parseTime } from '../parse.ts'
import { addSessionOptions, runs, type End, type Session, titleOf, type SessionFlags } from '../session.ts'
import { Interrupts } from '../interrupts.ts'
import { Inquiry } from './inquiry.ts'
import { addRefOptions } from './inspect.ts'
import { auditOfAll, type AuditSource } from '../../src/people/audits.ts'
import { keyIn, keyLength } from '../../src/records/key-in.ts'
import { adminFor, checkKey, keysFor, keysOfStore, type RefFlags } from './refs.ts'

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
  consume-once audit                            the newest of all consumers of the config
  consume-once audit sms-sender                 the newest decisions: resolve, reopen, forget, mark, release-hold, redrive,
                                                redrive --outbox, who paused or aborted what
  consume-once audit sms-sender order-17        all decisions about one message, by its ID or its key
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
    .argument('[consumer]', 'name of a consumer of the config, or group/name (default: all)')
    .argument('[id]', 'message ID or key: only decisions about this message')
    .option('--by <person>', 'only what this person did')
    .option('--decision <name>', 'only these decisions: reopen, or pause')
    .option('--since <time>', 'at or after: 2026-11-01T00:00Z, or how long ago: 24h', parseTime)
    .option('--until <time>', 'before', parseTime)
    .option('--limit <count>', `decisions to show (default: ${SHOWN_AT_ONCE})`, parsePositive)
    .option('--after <cursor>', 'the next page: `next` of the one before')
    .option('--all', 'every page')
  runs(addRefOptions(addSessionOptions(command)), end, HELP, audit)
}

async function audit(
  session: Session,
  name: string | undefined,
  id: string | undefined,
  flags: AuditFlags,
): Promise<number> {
  if (name === undefined) return auditOfConfig(session, flags)
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
    printJson('audit', {
      consumer: titleOf(entry),
      scope: admin.scope,
      entries: entries.map(entryJson),
      more: next !== undefined,
      next,
    })
  } else if (entries.length > 0) printText(auditTable(entries.map((one) => ({ ...one, consumer: '' }))))
  else
    say(
      `No ${isChosen ? 'such ' : ''}decision${id === undefined ? '' : ' about this message'} is in the audit of ${titleOf(entry)}.`,
    )
  if (next !== undefined) say(`There are more: --all, or --after '${next}'`)
  return EXIT.ok
}

/** One list of all consumers, as the dashboard shows it. What one of them has cannot be asked is told. */
async function auditOfConfig(session: Session, flags: AuditFlags): Promise<number> {
  const { key, after, all, limit = SHOWN_AT_ONCE } = flags
  if (key || all === true || flags.origin !== undefined) {
    throw misuse('--key, --origin, --all: expected one consumer, got none')
  }
  using interrupts = new Interrupts()
  const inquiry = new Inquiry(interrupts.signal)
  const sources = session.config.consumers.map((entry): AuditSource => {
    const ask = (query: AuditQuery) => session.answer(adminFor(entry, flags).audit(query))
    const nothing = { entries: [], next: undefined }
    return {
      consumer: titleOf(entry),
      audit: async (query) => (await inquiry.tried(entry, () => ask(query))) ?? nothing,
    }
  })
  const found = await auditOfAll(sources, { ...whichOf(flags), limit, after })
  const entries = found.entries.map(({ source, ...entry }) => ({ ...entry, consumer: source.consumer }))
  const { next } = found
  if (session.isJson) {
    const { problems } = inquiry
    printJson('audit', { entries: entries.map(entryJson), more: next !== undefined, next, problems })
  } else {
    inquiry.tell()
    if (entries.length > 0) printText(auditTable(entries))
    else say('No such decision is in the audit of a consumer.')
  }
  if (next !== undefined) say(`There are more: --after '${next}', or name a consumer`)
  return inquiry.isIncomplete ? EXIT.unreachable : EXIT.ok
}

function entryJson(entry: AuditEntry): Record<string, unknown> {
  return { ...entry, at: new Date(entry.at).toISOString() }
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
  else if (flags.key) found.push(...(await ofKey({ session, admin, entry }, id, which)))
  else {
    for (const key of await keysFor(session, entry, id, flags)) {
      found.push(...(await allOf(session, admin, { ...which, key })))
    }
  }
  const entries = found.toSorted((a, b) => b.at - a.at)
  return { entries: flags.limit === undefined ? entries : entries.slice(0, flags.limit), next: undefined }
}

/** Compares beginnings with all decisions: the record of a key may be gone by now. */
async function ofKey(
  { session, admin, entry }: { readonly session: Session } & Pick<Asked, 'admin' | 'entry'>,
  given: string,
  which: Which,
): Promise<readonly AuditEntry[]> {
  const of = keysOfStore(entry)
  const text = keyIn(given, of) ?? given
  checkKey(text, of)
  if (text.length === keyLength(of)) return allOf(session, admin, { ...which, key: text })
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

function auditTable(entries: readonly (AuditEntry & { readonly consumer: string })[]): string {
  const rows = entries.map(({ consumer, at, by, decision, before, key, about, reason }) => [
    consumer,
    new Date(at).toISOString(),
    ageOf(at),
    by,
    decision,
    before,
    about ?? key,
    reason,
  ])
  return table(['CONSUMER', 'AT', 'AGE', 'BY', 'DECISION', 'WAS', 'KEY', 'REASON'], rows)
}

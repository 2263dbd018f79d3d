import type { Command } from 'commander'
import type { DecideVerdict, Decider, Inspected, RecordRef } from '../../src/index.ts'
import { isUnproven } from '../../src/people/admin.ts'
import { carryOut, foreseen, type PersonsDecision as Decision } from '../../src/people/decisions.ts'
import { consequenceOf } from '../../src/people/decision-text.ts'
import { confirm } from '../confirm.ts'
import { EXIT, misuse } from '../exit.ts'
import { printJson, printText, printable, say, table } from '../output.ts'
import { addSessionOptions, runs, type End, type Session, titleOf, type SessionFlags } from '../session.ts'
import { addDeciderOptions, deciderOf, type DeciderFlags } from './decider.ts'
import { addRefOptions } from './inspect.ts'
import { adminFor, nameOf, refsOf, type RefFlags } from './refs.ts'
import { recordJson, stateCell } from './show.ts'

type DecideFlags = SessionFlags &
  RefFlags &
  DeciderFlags & {
    readonly done?: true
    readonly rerun?: true
    readonly unscoped?: true
  }

const CODES = `
Writes, each with the record as it was, who (--by), when and why (--reason), where the store keeps an audit.
Shows what would change, then asks you to type the consumer and the count, unless you give --yes.
Redis: a record that is done does not say of which consumer it is. Give its message ID, or --unscoped.
Exit code 0: as asked, or already in that state. 1: refused by a record's state, or no record. 2: usage. 3: not confirmed. 4: the store cannot be reached.`

const EXAMPLES = {
  resolve: `
Examples:
  consume-once resolve sms-sender order-17 --done --reason 'the provider has it, OPS-812'
  consume-once resolve sms-sender --key - --rerun --reason OPS-812 --yes < keys
${CODES}`,
  reopen: `
Examples:
  consume-once reopen sms-sender order-17 --reason 'fixed in 2.4.1'      then move its dead letter back
${CODES}`,
  forget: `
Examples:
  consume-once forget sms-sender order-17 --reason 'customer asked for it again'      then publish it again
${CODES}`,
}

export function addDecisions(program: Command, end: End): void {
  const add = (command: Command, decisionOf: (flags: DecideFlags) => Decision): void => {
    command
      .argument('<consumer>', 'name of a consumer of the config, or group/name')
      .argument('<ids...>', 'message IDs or keys, or - for standard input, one a line')
      .option('--unscoped', 'by key: decide also what does not say of which consumer it is, on Redis')
    const asked = addRefOptions(addSessionOptions(addDeciderOptions(command)))
    const help = EXAMPLES[command.name() as keyof typeof EXAMPLES]
    const work = (session: Session, consumer: string, ids: readonly string[], flags: DecideFlags): Promise<number> =>
      decide(session, { consumer, ids, flags, decision: decisionOf(flags) })
    runs(asked, end, help, work, { check: (_, __, flags) => void decisionOf(flags) })
  }
  const resolve = program
    .command('resolve')
    .description('Decides about messages that are parked, in doubt or given up.')
    .option('--done', 'the effect happened')
    .option('--rerun', 'it is to run; the old handler has ended')
  add(resolve, resolution)
  const reopen = program.command('reopen').description('Lets messages that were given up run at their next delivery.')
  add(reopen, () => 'reopen')
  const forget = program
    .command('forget')
    .description('Lets messages that are done happen again at their next delivery, on purpose.')
  add(forget, () => 'forget')
}

function resolution({ done, rerun }: DecideFlags): Decision {
  if ((done === undefined) === (rerun === undefined)) {
    throw misuse('resolve: expected one of --done and --rerun')
  }
  return done === true ? 'done' : 'rerun'
}

interface Request {
  readonly consumer: string
  readonly ids: readonly string[]
  readonly flags: DecideFlags
  readonly decision: Decision
}

type Verdict = DecideVerdict | 'no-record' | 'unproven'

interface Row {
  readonly record: Inspected
  readonly verdict: Verdict
}

async function decide(session: Session, { consumer, ids, flags, decision }: Request): Promise<number> {
  const decider = deciderOf(flags)
  const entry = session.consumer(consumer)
  const admin = adminFor(entry, flags)
  const asked = await refsOf({ session, admin, entry }, ids, flags)
  const refs = flags.unscoped === true ? asked.map(unscoped) : asked
  const rows = rowsOf(await session.answer(admin.inspect(refs)), decision)
  preview(rows, decision)
  const keys = rows.filter(({ verdict }) => verdict === 'decided').map(({ record }) => record.key)
  if (keys.length > 0) await confirm(`${entry.consumer.name} ${keys.length}`, flags.yes) // mutant: cli-asks-nobody
  const decided = await session.answer(carryOut(admin, decision, keys, decider))
  const verdicts = new Map(decided.map(({ key, verdict }) => [key, verdict]))
  const outcome = rows.map(({ record, verdict }) => ({ record, verdict: verdicts.get(record.key) ?? verdict }))
  tell(session, outcome, { decision, consumer: titleOf(entry), scope: admin.scope, ...decider })
  return outcome.some(({ verdict }) => isFinding(verdict)) ? EXIT.findings : EXIT.ok
}

function unscoped(ref: RecordRef): RecordRef {
  return typeof ref === 'object' && 'key' in ref ? { ...ref, unscoped: true } : ref
}

/**
 * Each record once.
 * @throws CommandError if an ID has several
 */
function rowsOf(records: readonly Inspected[], decision: Decision): readonly Row[] {
  const byId = new Map<string, Inspected>()
  for (const record of records) {
    const { ref, key, origin } = record
    if (typeof ref !== 'string') continue
    const known = byId.get(ref)
    if (known !== undefined && known.key !== key) {
      const where = `${known.origin} and ${origin}`
      throw misuse(`${JSON.stringify(ref)} has records under ${where}: say which by --origin`)
    }
    byId.set(ref, record)
  }
  const byKey = new Map(records.map((record) => [record.key, record]))
  return [...byKey.values()].map((record) => {
    const verdict = foreseen(record, decision)
    return { record, verdict: verdict === 'decided' && isUnproven(record) ? 'unproven' : verdict }
  })
}

function isFinding(verdict: Verdict): boolean {
  return verdict === 'refused' || verdict === 'no-record' || verdict === 'unproven'
}

const PREVIEWED = 20

function preview(rows: readonly Row[], decision: Decision): void {
  for (const { record, verdict } of rows.slice(0, PREVIEWED)) {
    const { ref, state, reason } = record
    const now = reason === undefined ? state : `${state} (${printable(reason)})`
    say(`  ${printable(nameOf(ref))}: ${now} -> ${consequence({ record, verdict }, decision)}`)
  }
  if (rows.length > PREVIEWED) say(`  ... and ${rows.length - PREVIEWED} more`)
  const count = (which: (verdict: Verdict) => boolean): number => rows.filter(({ verdict }) => which(verdict)).length
  const changing = count((verdict) => verdict === 'decided')
  say(
    `${changing} to change, ${count((verdict) => verdict === 'already')} already in that state, ${count(isFinding)} unchanged`,
  )
}

function consequence({ record, verdict }: Row, decision: Decision): string {
  const noRecord = `no record: check the ${typeof record.ref === 'string' ? 'ID and --origin' : 'key'}`
  return consequenceOf(verdict, decision, { scope: record.scope, noRecord })
}

function tell(
  session: Session,
  rows: readonly Row[],
  head: Decider & { readonly decision: Decision; readonly consumer: string; readonly scope: string },
): void {
  if (session.isJson) {
    const records = rows.map(({ record, verdict }) => ({ ...recordJson(record), verdict }))
    printJson(head.decision === 'done' || head.decision === 'rerun' ? 'resolve' : head.decision, { ...head, records })
    return
  }
  const told = rows.map(({ record, verdict }) => [nameOf(record.ref), record.key, stateCell(record), verdict])
  printText(table(['MESSAGE', 'KEY', 'WAS', 'VERDICT'], told))
}

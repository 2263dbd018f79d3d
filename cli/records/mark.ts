import type { Command } from 'commander'
import { confirm } from '../confirm.ts'
import { EXIT } from '../exit.ts'
import { printJson, printText, printable, say, table } from '../output.ts'
import { RAW_IDS, readIds } from '../parse.ts'
import { addSessionOptions, runs, type End, type Session, titleOf, type SessionFlags } from '../session.ts'
import { addDeciderOptions, deciderOf, type DeciderFlags } from './decider.ts'
import { adminFor, nameOf, type RefFlags } from './refs.ts'
import { countedText } from '../../src/core/counted-text.ts'

type MarkFlags = SessionFlags & DeciderFlags & Pick<RefFlags, 'origin' | 'rawIds'> & { readonly fromFile: string }

const HELP = `
Before a consumer has run for the first time, its store knows nothing, and a replay would repeat everything. Give it the IDs of the messages whose
effect has happened; they are done then, for as long as the retention.

Examples:
  consume-once mark sms --from-file sent.txt --reason 'sent before we used the library'
  psql -At -c 'select id from sms where sent' | consume-once mark sms --from-file - --reason OPS-812 --yes

Exit code 0: all are done now. 1: some have another record, which stays as it is. 2: usage. 3: not confirmed. 4: the store cannot be reached; safe to repeat.`

export function addMark(program: Command, end: End): void {
  const command = program
    .command('mark')
    .description('Records messages as done that happened before the library was used.')
    .argument('<consumer>', 'name of a consumer of the config, or group/name')
    .requiredOption('--from-file <file>', 'message IDs, one a line; - for standard input')
    .option('--origin <name>', 'the topic or queue that the messages are published to, if the consumer has several')
    .option(...RAW_IDS)
  runs(addSessionOptions(addDeciderOptions(command)), end, HELP, mark)
}

async function mark(session: Session, name: string, flags: MarkFlags): Promise<number> {
  const why = deciderOf(flags)
  const entry = session.consumer(name)
  const admin = adminFor(entry, flags)
  const ids = readIds('--from-file', flags.fromFile, { isRaw: flags.rawIds === true })
  say(
    `${countedText(ids.length, 'message')} (${shownIds(ids, 2)}) will be done for ${titleOf(entry)}: no handler runs for them any more`,
  )
  await confirm(`${entry.consumer.name} ${ids.length}`, flags.yes)
  const counts = { decided: 0, already: 0, refused: 0 }
  const refusedIds: string[] = []
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    const decided = await session.answer(admin.import(ids.slice(at, at + AT_ONCE), why))
    for (const { ref, verdict } of decided) {
      counts[verdict]++
      if (verdict === 'refused') refusedIds.push(nameOf(ref))
    }
  }
  if (session.isJson)
    printJson('mark', {
      consumer: titleOf(entry),
      scope: admin.scope,
      ...why,
      asked: ids.length,
      ...counts,
      refusedIds,
    })
  else {
    const rows = [
      ['done now', String(counts.decided)],
      ['were done', String(counts.already)],
      ['have another record, see `inspect`', String(counts.refused)],
    ]
    printText(table(['MESSAGES', 'COUNT'], rows))
    if (refusedIds.length > 0) printText(`these were left: ${shownIds(refusedIds, 20)}`)
  }
  return counts.refused > 0 ? EXIT.findings : EXIT.ok
}

function shownIds(ids: readonly string[], most: number): string {
  const more = ids.length > most ? `, and ${(ids.length - most).toLocaleString('en')} more` : ''
  return `${ids.slice(0, most).map(printable).join(', ')}${more}`
}

/** Within the time limit of one answer. */
const AT_ONCE = 2_000

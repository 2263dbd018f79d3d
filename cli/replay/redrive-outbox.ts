import { outboxOf } from '../../src/index.ts'
import { redriveOutbox } from '../../src/people/redrive-outbox.ts'
import { confirm } from '../confirm.ts'
import { EXIT, misuse } from '../exit.ts'
import { printJson, printText, printable, say } from '../output.ts'
import { deciderOf } from '../records/decider.ts'
import { titleOf, type Session } from '../session.ts'

export interface OutboxFlags {
  /** IDs as `inspect --outbox` lists them, or `all`. */
  readonly outbox: readonly string[]
  readonly reason?: string
  readonly by?: string
  readonly dryRun: boolean
  readonly yes: boolean
}

/** Flags that mean the same for dead letters and for the outbox. */
const COMMON: ReadonlySet<string> = new Set(['outbox', 'reason', 'by', 'dryRun', 'yes', 'config', 'json', 'timeout'])

/** @throws CommandError for an argument or a flag that only dead letters have */
export function checkOutboxFlags(messages: readonly string[], flags: object): void {
  if (messages.length > 0) throw misuse('--outbox: expected no messages, which are for dead letters')
  const other = Object.entries(flags).find(([name, value]) => !COMMON.has(name) && value !== undefined)
  if (other === undefined) return
  const flag = other[0].replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  throw misuse(`--outbox: expected no --${flag}, which is for dead letters`)
}

/** As `refused()` lists them. */
const MOST_LISTED = 100

/** Has messages of the outbox tried now that were refused. */
export async function redriveFromOutbox(session: Session, name: string, flags: OutboxFlags): Promise<number> {
  const entry = session.consumer(name)
  const refused = await session.answer(outboxOf(entry.consumer).refused())
  const isAll = flags.outbox.includes('all')
  const chosen = isAll ? refused : refused.filter(({ id }) => flags.outbox.includes(id))
  const asked = isAll ? chosen.length : new Set(flags.outbox).size
  for (const { id, place, messageId, cause = '' } of chosen) {
    say(`  ${id}: ${printable(messageId)} to ${printable(place)}: ${printable(cause)}`)
  }
  const unknown = isAll ? [] : [...new Set(flags.outbox)].filter((id) => !chosen.some((one) => one.id === id))
  if (unknown.length > 0)
    say(`  not refused, or not among the first ${MOST_LISTED}: ${unknown.map(printable).join(', ')}`)
  if (flags.dryRun) return asked === chosen.length ? EXIT.ok : EXIT.findings
  const { reason = '', by } = flags
  const decider = deciderOf({ reason, ...(by === undefined ? {} : { by }) })
  if (chosen.length > 0) await confirm(`${entry.consumer.name} ${chosen.length}`, flags.yes)
  const { redriven, isNoted } = await session.answer(redriveOutbox(entry, chosen, decider))
  if (!isNoted) say('The audit does not have it: the store keeps no notes.')
  if (session.isJson) printJson('redrive', { consumer: titleOf(entry), asked, redriven })
  else printText(told(redriven, asked))
  return redriven === asked ? EXIT.ok : EXIT.findings
}

function told(redriven: number, asked: number): string {
  if (asked === 0) return 'Nothing is refused or parked: there is nothing to try.'
  if (redriven === 0) return `None of ${asked} is refused or parked: nothing is tried.`
  return `${redriven} of ${asked} had been refused: a relay tries ${redriven === 1 ? 'it' : 'them'} at its next look.`
}

import { ageOf } from '../age.ts'
import { dateOf } from './date.ts'
import { InvalidArgumentError, type Command } from 'commander'
import { positionsOf, type GoOnFrom } from '../../src/index.ts'
import { type HoldVerdict, type ListedPosition } from '../../src/internal.ts'
import { confirm } from '../confirm.ts'
import { EXIT, misuse } from '../exit.ts'
import { printable, printJson, printText, say, table } from '../output.ts'
import { addSessionOptions, runs, type End, type Session, titleOf, type SessionFlags } from '../session.ts'
import { addDeciderOptions, deciderOf, type DeciderFlags } from './decider.ts'

interface ReleaseFlags extends SessionFlags, DeciderFlags {
  readonly keep?: true
  readonly fromBeginning?: true
  readonly from?: bigint
}

const POSITIONS_EXAMPLES = `
Examples:
  consume-once positions sms-sender      where each partition goes on, and which are held

Only for consumers on postgresOffsets; the others have records: \`inspect\`.
Exit code 0: nothing is held. 1: a partition is held. 2: usage. 4: the store cannot be reached.`

const RELEASE_EXAMPLES = `
Examples:
  consume-once release-hold sms-sender sms/0 --from-beginning --reason 'topic created anew, OPS-812'
  consume-once release-hold sms-sender sms/0 --from 1200 --reason OPS-812
  consume-once release-hold sms-sender sms/0 --keep --reason 'same topic, checked by hand, OPS-812'

A partition is held where its log may not be the one that its position was stored of. Look at the topic first.
Writes, with the position as it was, who (--by), when and why (--reason), in the audit.
Shows what would change, then asks you to type the consumer and the partition, unless you give --yes.
Exit code 0: released. 1: not held, or no such position. 2: usage. 3: not confirmed. 4: the store cannot be reached.`

export function addPositions(program: Command, end: End): void {
  const positions = program
    .command('positions')
    .description('Shows where each partition of a consumer on postgresOffsets goes on. Changes nothing.')
    .argument('<consumer>', 'name of a consumer of the config, or group/name')
  runs(addSessionOptions(positions), end, POSITIONS_EXAMPLES, list)
  const hold = program
    .command('release-hold')
    .description('Says where a partition that is held goes on.')
    .argument('<consumer>', 'name of a consumer of the config, or group/name')
    .argument('<partition>', 'as `positions` and the event tell it: topic/partition')
    .option('--from-beginning', 'at offset 0: all of the topic that was created anew is handled')
    .option('--from <offset>', 'at this offset: what lies before it is not handled', parseOffset)
    .option('--keep', 'at the stored position: it is right')
  runs(addDeciderOptions(addSessionOptions(hold)), end, RELEASE_EXAMPLES, release, {
    check: (_, __, flags) => void goOnFrom(flags),
  })
}

function parseOffset(text: string): bigint {
  if (/^\d{1,18}$/.test(text)) return BigInt(text)
  throw new InvalidArgumentError('Expected an offset: a whole number from 0.')
}

function goOnFrom({ keep, fromBeginning, from }: ReleaseFlags): GoOnFrom {
  const asked: GoOnFrom[] = []
  if (keep === true) asked.push('position')
  if (fromBeginning === true) asked.push('beginning')
  if (from !== undefined) asked.push(from)
  const [only, another] = asked
  if (only !== undefined && another === undefined) return only
  throw misuse('release-hold: expected one of --from-beginning, --from and --keep')
}

async function list(session: Session, name: string): Promise<number> {
  const entry = session.consumer(name)
  const admin = positionsOf(entry.consumer, entry.subscription)
  const positions = await session.answer(admin.list())
  if (session.isJson) {
    printJson('positions', { consumer: titleOf(entry), scope: admin.scope, positions: positions.map(positionJson) })
  } else if (positions.length === 0) say(`No partition of ${titleOf(entry)} has a position.`)
  else {
    const rows = positions.map(({ stream, next, held, heldSince }) => [
      printable(stream),
      String(next),
      dateOf(heldSince) ?? '',
      ageOf(heldSince),
      printable(held ?? ''),
    ])
    printText(table(['PARTITION', 'POSITION', 'HELD SINCE', 'AGE', 'WHY'], rows))
  }
  return positions.some(({ held }) => held !== undefined) ? EXIT.findings : EXIT.ok
}

function positionJson({ stream, next, held, heldSince }: ListedPosition): Record<string, unknown> {
  return {
    partition: stream,
    // Offsets are 64 bits wide.
    position: String(next),
    held,
    held_since: dateOf(heldSince),
  }
}

async function release(session: Session, consumer: string, stream: string, flags: ReleaseFlags): Promise<number> {
  const from = goOnFrom(flags)
  const decider = deciderOf(flags)
  const entry = session.consumer(consumer)
  const admin = positionsOf(entry.consumer, entry.subscription)
  const position = (await session.answer(admin.list())).find((one) => one.stream === stream)
  const foreseen: HoldVerdict =
    position === undefined ? 'no-position' : position.held === undefined ? 'not-held' : 'released'
  say(`  ${printable(stream)}: ${preview(position, from)}`)
  if (foreseen === 'released') await confirm(`${entry.consumer.name} ${stream}`, flags.yes)
  const verdict =
    foreseen === 'released' ? await session.answer(admin.release(stream, { ...decider, goOnFrom: from })) : foreseen
  if (session.isJson) {
    const head = { consumer: titleOf(entry), scope: admin.scope, ...decider }
    printJson('release-hold', { ...head, partition: stream, from: String(from), verdict })
  } else printText(table(['PARTITION', 'WAS', 'VERDICT'], [[printable(stream), String(position?.next ?? ''), verdict]]))
  return verdict === 'released' ? EXIT.ok : EXIT.findings
}

function preview(position: ListedPosition | undefined, from: GoOnFrom): string {
  if (position === undefined) return 'has no position: `positions` lists those that have'
  const { next, held } = position
  if (held === undefined) return `is not held, and stays at ${next}`
  const at = from === 'position' ? next : from === 'beginning' ? 0n : from
  const handled = 'messages from there on are handled, also those that were handled before'
  const never = 'messages before it are never handled'
  const what = from === 'position' ? [never] : at === 0n ? [handled] : [handled, never]
  const where = `goes on at ${at}: ${what.join('; ')}`
  return `held at ${next} (${printable(held)}) -> ${where}`
}

import { outboxOf, type ConfiguredConsumer, type OutboxBacklog, type OutboxRefused } from '../../src/index.ts'
import { durationText } from '../../src/core/duration-text.ts'
import { whyCommand } from '../../src/people/command-text.ts'
import { definitionOf } from '../../src/consumer/define-consumer.ts'
import { EXIT } from '../exit.ts'
import { printJson, printText, printable, say, table } from '../output.ts'
import { titleOf, type Session } from '../session.ts'
import { keyOfProvider } from '../../src/records/key-in.ts'

/** What the consumer has committed and not published yet, and why. */
export async function showOutbox(
  session: Session,
  entry: ConfiguredConsumer,
  head: { readonly consumer: string; readonly scope: string },
): Promise<number> {
  const outbox = outboxOf(entry.consumer)
  const [backlog, refused] = await session.answer(Promise.all([outbox.backlog(), outbox.refused()]))
  if (session.isJson) printJson('inspect', { ...head, backlog, refused })
  else if (backlog.length === 0) say(`Nothing waits in the outbox of ${head.consumer}.`)
  else printText([backlogTable(backlog), ...(refused.length === 0 ? [] : ['', refusedTable(refused)])].join('\n'))
  const [first] = refused
  if (first === undefined) return EXIT.ok
  const { keys = 'ids' } = definitionOf(entry.consumer).store
  const [key] = refused.flatMap(({ messageId }) => keyOfProvider(messageId, keys) ?? [])
  if (key !== undefined) say(`The message that was handled: ${whyCommand(key)}`)
  say(`Try one now: npx consume-once redrive ${titleOf(entry)} --outbox ${first.id} --reason WHY`)
  return EXIT.ok
}

function backlogTable(backlog: readonly OutboxBacklog[]): string {
  return table(
    ['PLACE', 'BROKER', 'WAITING', 'REFUSED BEFORE', 'PARKED', 'OLDEST'],
    backlog.map(({ place, system, waiting, failing, parked, oldestMs }) => [
      printable(place),
      system,
      String(waiting),
      String(failing),
      String(parked),
      waiting === 0 ? '' : durationText(Math.round(oldestMs / 1_000) * 1_000),
    ]),
  )
}

function refusedTable(refused: readonly OutboxRefused[]): string {
  return table(
    ['REFUSED', 'PLACE', 'KEY', 'MESSAGE ID', 'ATTEMPTS', 'STATE', 'WHY'],
    refused.map(({ id, place, key, messageId, attempts, isParked, cause }) => [
      id,
      printable(place),
      printable(key ?? ''),
      printable(messageId),
      String(attempts),
      isParked ? 'parked' : 'tried again',
      printable(cause ?? ''),
    ]),
  )
}

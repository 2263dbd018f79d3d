import type { Command } from 'commander'
import { outboxOf, type OutboxBacklog, type OutboxRefused } from '../src/index.ts'
import { durationText } from '../src/core/duration-text.ts'
import { confirm } from './confirm.ts'
import { EXIT, misuse } from './exit.ts'
import { Interrupts } from './interrupts.ts'
import { printJson, printText, printable, say, table } from './output.ts'
import { addSessionOptions, runs, titleOf, type End, type Session, type SessionFlags } from './session.ts'

const OUTBOX_EXAMPLES = `
Examples:
  consume-once outbox payments              what waits to be published, and what was refused and why

Exit code 0: nothing was refused. 1: messages were refused. 2: usage. 4: the database cannot be reached.`

const REDRIVE_EXAMPLES = `
Examples:
  consume-once redrive-outbox payments 17 18    as \`outbox\` lists them
  consume-once redrive-outbox payments --all

They are tried again with all their attempts, by the relay of any process: this one writes, and publishes nothing.
Shows what would change, then asks you to type the consumer and the count, unless you give --yes.
Exit code 0: done. 1: some had not been refused. 2: usage. 3: not confirmed. 4: the database cannot be reached.`

const RELAY_EXAMPLES = `
Examples:
  consume-once relay payments    publishes what waits in the outbox of its store, until SIGINT or SIGTERM

A process with the consumer does that by itself. The config must give the outbox its publishers. On a signal it publishes what
is committed, for as long as --timeout says, and ends.
Exit code 130 or 143: ended by a signal. 2: usage. 4: the database cannot be reached.`

interface RedriveFlags extends SessionFlags {
  readonly all?: true
  readonly yes: boolean
}

export function addOutbox(program: Command, end: End): void {
  const consumer = ['<consumer>', 'name of a consumer of the config, or group/name'] as const
  const show = program
    .command('outbox')
    .description('Shows what a consumer has committed and not published yet. Changes nothing.')
    .argument(...consumer)
  runs(addSessionOptions(show), end, OUTBOX_EXAMPLES, list)
  const redrive = program
    .command('redrive-outbox')
    .description('Tries messages of the outbox now that were refused, parked ones too.')
    .argument(...consumer)
    .argument('[ids...]', 'as `outbox` lists them')
    .option('--all', 'all that were refused, 100 at most')
    .option('--yes', 'asks nothing', false)
  runs(addSessionOptions(redrive), end, REDRIVE_EXAMPLES, goOn, {
    check: (_, ids: readonly string[], { all }: RedriveFlags) => {
      if ((all === true) === ids.length > 0) throw misuse('redrive-outbox: expected IDs of `outbox`, or --all')
    },
  })
  const relay = program
    .command('relay')
    .description('Publishes what waits in the outbox of a consumer, in a process of its own.')
    .argument(...consumer)
  runs(addSessionOptions(relay), end, RELAY_EXAMPLES, publish)
}

async function list(session: Session, name: string): Promise<number> {
  const entry = session.consumer(name)
  const outbox = outboxOf(entry.consumer)
  const [backlog, refused] = await session.answer(Promise.all([outbox.backlog(), outbox.refused()]))
  if (session.isJson) printJson('outbox', { consumer: titleOf(entry), backlog, refused })
  else printText(asText(titleOf(entry), backlog, refused))
  return refused.length > 0 ? EXIT.findings : EXIT.ok
}

function asText(title: string, backlog: readonly OutboxBacklog[], refused: readonly OutboxRefused[]): string {
  if (backlog.length === 0) return `Nothing waits in the outbox of ${title}.`
  const places = table(
    ['PLACE', 'BROKER', 'WAITING', 'REFUSED BEFORE', 'PARKED', 'OLDEST'],
    backlog.map(({ place, system, waiting, failing, parked: set, oldestMs }) => [
      printable(place),
      system,
      String(waiting),
      String(failing),
      String(set),
      waiting === 0 ? '' : durationText(Math.round(oldestMs / 1_000) * 1_000),
    ]),
  )
  if (refused.length === 0) return places
  const rows = refused.map(({ id, place, messageId, attempts, isParked, cause }) => [
    id,
    printable(place),
    printable(messageId),
    String(attempts),
    isParked ? 'parked' : 'tried again',
    printable(cause ?? ''),
  ])
  const next = `Try them now: consume-once redrive-outbox ${title} ${refused[0]?.id ?? ''}`
  return [places, '', table(['REFUSED', 'PLACE', 'MESSAGE ID', 'ATTEMPTS', 'STATE', 'WHY'], rows), next].join('\n')
}

async function goOn(session: Session, name: string, ids: readonly string[], flags: RedriveFlags): Promise<number> {
  const entry = session.consumer(name)
  const outbox = outboxOf(entry.consumer)
  const refused = await session.answer(outbox.refused())
  const chosen = flags.all === true ? refused : refused.filter(({ id }) => ids.includes(id))
  for (const { id, place, messageId, cause = '' } of chosen) {
    say(`  ${id} ${printable(place)} ${printable(messageId)}: ${printable(cause)}`)
  }
  if (chosen.length > 0) await confirm(`${entry.consumer.name} ${chosen.length}`, flags.yes)
  // Of more than are listed some may be asked for too.
  const wanted = flags.all === true ? chosen.map(({ id }) => id) : ids
  const redriven = await session.answer(outbox.redrive(wanted))
  if (session.isJson) printJson('redrive-outbox', { consumer: titleOf(entry), asked: wanted.length, redriven })
  else printText(`${redriven} of ${wanted.length} had been refused: a relay tries them at its next look.`)
  return redriven === wanted.length ? EXIT.ok : EXIT.findings
}

async function publish(session: Session, name: string): Promise<number> {
  const entry = session.consumer(name)
  const outbox = outboxOf(entry.consumer)
  // Is the database there?
  await session.answer(outbox.backlog())
  using interrupts = new Interrupts()
  outbox.start()
  say(`publishes the outbox of ${titleOf(entry)}`)
  await new Promise<void>((resolve) => interrupts.signal.addEventListener('abort', () => resolve()))
  await outbox.stop(session.timeoutMs)
  return interrupts.exitCode ?? EXIT.ok
}

import type { Command } from 'commander'
import { outboxOf, type OutboxBacklog, type OutboxParked } from '../src/index.ts'
import { durationText } from '../src/core/duration-text.ts'
import { confirm } from './confirm.ts'
import { EXIT, misuse } from './exit.ts'
import { Interrupts } from './interrupts.ts'
import { printJson, printText, printable, say, table } from './output.ts'
import { addSessionOptions, runs, titleOf, type End, type Session, type SessionFlags } from './session.ts'

const OUTBOX_EXAMPLES = `
Examples:
  consume-once outbox payments              what waits to be published, and what is parked and why

Exit code 0: nothing is parked. 1: messages are parked. 2: usage. 4: the database cannot be reached.`

const REDRIVE_EXAMPLES = `
Examples:
  consume-once redrive-outbox payments 17 18    as \`outbox\` lists them
  consume-once redrive-outbox payments --all

They are tried again with all their attempts, by the relay of any process: this one writes, and publishes nothing.
Shows what would change, then asks you to type the consumer and the count, unless you give --yes.
Exit code 0: done. 1: some were not parked. 2: usage. 3: not confirmed. 4: the database cannot be reached.`

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
    .description('Publishes messages of the outbox after all that were parked.')
    .argument(...consumer)
    .argument('[ids...]', 'as `outbox` lists them')
    .option('--all', 'all that are parked, 100 at most')
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
  const [backlog, parked] = await session.answer(Promise.all([outbox.backlog(), outbox.parked()]))
  if (session.isJson) printJson('outbox', { consumer: titleOf(entry), backlog, parked })
  else printText(asText(titleOf(entry), backlog, parked))
  return parked.length > 0 ? EXIT.findings : EXIT.ok
}

function asText(title: string, backlog: readonly OutboxBacklog[], parked: readonly OutboxParked[]): string {
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
  if (parked.length === 0) return places
  const rows = parked.map(({ id, place, messageId, attempts, cause }) => [
    id,
    printable(place),
    printable(messageId),
    String(attempts),
    printable(cause ?? ''),
  ])
  const next = `Publish them after all: consume-once redrive-outbox ${title} ${parked[0]?.id ?? ''}`
  return [places, '', table(['PARKED', 'PLACE', 'MESSAGE ID', 'ATTEMPTS', 'WHY'], rows), next].join('\n')
}

async function goOn(session: Session, name: string, ids: readonly string[], flags: RedriveFlags): Promise<number> {
  const entry = session.consumer(name)
  const outbox = outboxOf(entry.consumer)
  const parked = await session.answer(outbox.parked())
  const wanted = flags.all === true ? parked.map(({ id }) => id) : ids
  if (wanted.length > 0) {
    say(`  ${wanted.length} messages are published after all, in the order of their lines`)
    await confirm(`${entry.consumer.name} ${wanted.length}`, flags.yes)
  }
  const redriven = await session.answer(outbox.redrive(wanted))
  if (session.isJson) printJson('redrive-outbox', { consumer: titleOf(entry), asked: wanted.length, redriven })
  else printText(`${redriven} of ${wanted.length} were parked, and are published by the next relay.`)
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

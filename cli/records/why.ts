import type { Command } from 'commander'
import { findCommand } from '../../src/people/command-text.ts'
import { searchedPlaces } from '../../src/replay/find/search.ts'
import { EXIT } from '../exit.ts'
import { Interrupts } from '../interrupts.ts'
import { printJson, printText, say } from '../output.ts'
import { parseList, parsePositive } from '../parse.ts'
import { addSessionOptions, runs, titleOf, type End, type Session, type SessionFlags } from '../session.ts'
import { Inquiry } from './inquiry.ts'
import { Search, type Known, type SearchFlags } from './search.ts'
import { whyJson, whyText } from './why-text.ts'

type WhyFlags = SessionFlags & SearchFlags & { readonly consumer?: readonly string[] }

const LOOKED_AT = 100_000

const HELP = `
Examples:
  consume-once why order-17                          all consumers of the config
  consume-once why U1nmhO_WlHMIQdRLsEpnZw            by its key, as logs and lists show it
  consume-once why kq3v...-0                         by its idempotency key, or the ID of what its handler published
  consume-once why kq3v...-charge                    by what a provider shows that was named after that key
  consume-once why sms/3/1204                        by its place in a topic of Kafka
  consume-once why order-17 --consumer sms-sender --json
  consume-once why order-17 --no-dead-letters        asks the stores only

Tells what became of a message: its record, the idempotency key by which its provider can be asked, where its dead letter lies, what of it
waits in an outbox, who decided what about it, and the commands that may follow. Decides nothing. Shows no payload.
Dead letters: of the consumers that have a record of it, or else of all. A Kafka topic is only read. The messages of a RabbitMQ queue are
taken and handed back, as by \`redrive --dry-run\`; notes say what that costs.

Exit code 0: shown. 1: no consumer has a record or a dead letter of it. 2: usage. 4: a store or broker cannot be reached; the rest is shown.`

export function addWhy(program: Command, end: End): void {
  const command = program
    .command('why')
    .description('Tells what became of a message, and what may follow.')
    .argument('<message>', `its ID, its key, its idempotency key, or on Kafka topic/partition/offset`)
    .option('--consumer <names...>', 'only these consumers of the config (default: all)', parseList)
    .option('--origin <name>', 'the topic or queue the message was first published to, where IDs are in use in several')
    .option('--no-dead-letters', 'do not look for its dead letter at the broker')
    .option('--look-at-most <count>', 'dead letters to look at, in each place', parsePositive, LOOKED_AT)
  runs(addSessionOptions(command), end, HELP, why)
}

async function why(session: Session, what: string, flags: WhyFlags): Promise<number> {
  const entries = flags.consumer?.map((name) => session.consumer(name)) ?? session.config.consumers
  using interrupts = new Interrupts()
  const inquiry = new Inquiry(interrupts.signal)
  const search = new Search(session, flags, inquiry)
  const sought = await search.records(what, entries)
  const known: Known[] = []
  for (const one of sought) known.push(...(await search.knownOf(one)))
  if (session.isJson) printJson('why', whyJson({ what, known, inquiry }))
  else {
    inquiry.tell()
    if (known.length > 0) printText(known.map(whyText).join('\n\n'))
    else if (sought.length > 0) {
      say(nothingText(sought.map(({ entry }) => titleOf(entry))))
      if (sought.some(({ entry }) => searchedPlaces(entry, { topics: true }).length > 0)) {
        say(`If it is a part of the message: ${findCommand(what, flags.consumer)}`)
      }
    }
  }
  if (interrupts.exitCode !== undefined) return interrupts.exitCode
  if (inquiry.isIncomplete) return EXIT.unreachable
  if (sought.length === 0) return EXIT.usage
  return known.length === 0 ? EXIT.findings : EXIT.ok
}

function nothingText(consumers: readonly string[]): string {
  return `No record and no dead letter of it was found: ${consumers.join(', ')}. Compare the ID with what the producer sent: capitals, spaces and each character count`
}

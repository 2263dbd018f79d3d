import type { Command } from 'commander'
import { outboxOf } from '../src/index.ts'
import { EXIT } from './exit.ts'
import { Interrupts } from './interrupts.ts'
import { say } from './output.ts'
import { addSessionOptions, runs, titleOf, type End, type Session } from './session.ts'

const EXAMPLES = `
Examples:
  consume-once relay payments    publishes what waits in the outbox of its store, until SIGINT or SIGTERM

A process with the consumer does that by itself. The config must give the outbox its publishers. On a signal it publishes what
is committed, for as long as --timeout says, and ends.
Exit code 130 or 143: ended by a signal. 2: usage. 4: the database cannot be reached.`

export function addRelay(program: Command, end: End): void {
  const relay = program
    .command('relay')
    .description('Publishes what waits in the outbox of a consumer, in a process of its own.')
    .argument('<consumer>', 'name of a consumer of the config, or group/name')
  runs(addSessionOptions(relay), end, EXAMPLES, publish)
}

async function publish(session: Session, name: string): Promise<number> {
  const entry = session.consumer(name)
  const outbox = outboxOf(entry.consumer)
  // Is the database there?
  await session.answer(outbox.open())
  using interrupts = new Interrupts()
  outbox.start()
  say(`publishes the outbox of ${titleOf(entry)}`)
  await new Promise<void>((resolve) => interrupts.signal.addEventListener('abort', () => resolve()))
  await outbox.stop(session.timeoutMs)
  return interrupts.exitCode ?? EXIT.ok
}

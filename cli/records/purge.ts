import type { Command } from 'commander'
import type { Purged } from '../../src/internal.ts'
import { confirm } from '../confirm.ts'
import { EXIT } from '../exit.ts'
import { Interrupts } from '../interrupts.ts'
import { printJson, printText, say } from '../output.ts'
import { parsePositive } from '../parse.ts'
import { addSessionOptions, runs, type End, type Session, titleOf, type SessionFlags } from '../session.ts'
import { adminFor } from './refs.ts'

interface PurgeFlags extends SessionFlags {
  readonly yes: boolean
  readonly batch: number
}

const EXAMPLES = `
Examples:
  consume-once purge sms-sender --yes      each night, where the store does not forget by itself (Postgres, MariaDB)

Removes records whose retention has ended, a batch in a transaction. What is parked stays. Redis needs none: it forgets by itself.
Exit code 0: nothing over is left. 2: usage. 3: not confirmed. 4: the store cannot be reached. 130, 143: interrupted after a batch; run it again.`

/** How often a purge reports its progress without a terminal. */
const TELL_EVERY_MS = 5_000

export function addPurge(program: Command, end: End): void {
  const command = program
    .command('purge')
    .description('Removes records whose retention has ended.')
    .argument('<consumer>', 'name of a consumer of the config, or group/name')
    .option('--batch <count>', 'records removed in one transaction', parsePositive, 10_000)
    .option('--yes', 'do not ask', false)
  runs(addSessionOptions(command), end, EXAMPLES, purge)
}

async function purge(session: Session, name: string, { batch, yes }: PurgeFlags): Promise<number> {
  const entry = session.consumer(name)
  const admin = adminFor(entry, {})
  if (admin.forgetsByItself) say(`  ${admin.scope}: the store ends records by itself, nothing is left to remove`)
  else {
    say(`  ${admin.scope}: records whose retention has ended are removed, ${batch} in a transaction`)
    await confirm(entry.consumer.name, yes)
  }
  using interrupts = new Interrupts()
  const ask = (): Promise<Purged> => session.answer(admin.purge(batch))
  const { removed, more } = await purgeAll(ask, interrupts.signal)
  if (session.isJson) {
    printJson('purge', { consumer: titleOf(entry), scope: admin.scope, removed, interrupted: more })
  } else printText(`${removed} removed`)
  return more ? (interrupts.exitCode ?? EXIT.interrupted) : EXIT.ok
}

async function purgeAll(ask: () => Promise<Purged>, signal: AbortSignal): Promise<Purged> {
  let toldAt = performance.now()
  for (let total = 0; ;) {
    const { removed, more } = await ask()
    total += removed
    if (!more || signal.aborted) return { removed: total, more }
    if (performance.now() - toldAt < TELL_EVERY_MS) continue
    toldAt = performance.now()
    say(`${total} removed so far`)
  }
}

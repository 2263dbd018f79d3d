import type { Command } from 'commander'
import type { Decider } from '../../src/index.ts'
import { osUser } from '../../src/people/os-user.ts'
import { misuse } from '../exit.ts'

export interface DeciderFlags {
  readonly reason: string
  readonly by?: string
  readonly yes: boolean
}

/** Options of every command that makes a permanent decision. */
export function addDeciderOptions(command: Command): Command {
  return command
    .requiredOption('--reason <text>', 'why, for the audit: a ticket, or a sentence; no payload, no secret')
    .option('--by <name>', 'who decides, for the audit (default: the user of the operating system)')
    .option('--yes', 'do not ask', false)
}

/** @throws CommandError if no reason is given */
export function deciderOf({ by, reason }: Omit<DeciderFlags, 'yes'>): Decider {
  if (reason.trim() === '') throw misuse('--reason: expected why, got nothing')
  return { by: by ?? osUser(), reason } // mutant: cli-hides-who-decides
}

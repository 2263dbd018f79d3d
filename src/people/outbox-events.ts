// What the handler of a message has published and no broker has confirmed, for people. Pure.

import { countedText } from '../core/counted-text.ts'
import type { OutboxRefused } from '../ports/outbox.ts'
import { command, type NamedConsumer } from './command-text.ts'

/** What is so with some events of a message, and the command that may follow. */
export interface OutboxFinding {
  readonly text: string
  readonly command: { readonly about: string; readonly text: string }
}

interface Asked {
  readonly consumer: NamedConsumer
  readonly consumers: readonly Pick<NamedConsumer, 'name'>[]
}

/** @param events - `cause`: why it was refused; `undefined`: it waits */
export function outboxFindings(
  events: readonly OutboxRefused[],
  { consumer, consumers }: Asked,
): readonly OutboxFinding[] {
  const run = (about: string, verb: string, rest: string): OutboxFinding['command'] => ({
    about,
    text: command(verb, consumer, consumers, rest),
  })
  const refused = events.filter(({ cause }) => cause !== undefined)
  const waiting = events.length - refused.length
  return [
    ...(refused.length === 0
      ? []
      : [
          {
            text: `${countedText(refused.length, 'event of it was', 'events of it were')} refused by the broker, because: ${causesOf(refused)}. Mend that first.`,
            command: run(
              'Tries again what was refused',
              'redrive',
              `--outbox ${refused.map(({ id }) => id).join(',')} --reason WHY`,
            ),
          },
        ]),
    ...(waiting === 0
      ? []
      : [
          {
            text: `${countedText(waiting, 'event of it waits', 'events of it wait')} in the outbox: no relay has published it yet.`,
            command: run('Shows what waits there, since when and why', 'inspect', '--outbox'),
          },
        ]),
  ]
}

/** Each once. */
function causesOf(refused: readonly OutboxRefused[]): string {
  return [...new Set(refused.map(({ cause = '' }) => cause.replace(/\.+$/, '')))].join('; ')
}

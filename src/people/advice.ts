// What a person can do about a message, with the commands for it: the same in the command-line tool and on the dashboard. Pure.

import { command, redriveRefOf, refOf, type Named, type NamedConsumer } from './command-text.ts'
import type { RecordView } from '../core/record.ts'

export interface Advice {
  readonly text: string
  /** Commands for a shell. */
  readonly commands: readonly { readonly about: string; readonly text: string }[]
}

export interface Advised {
  /** `deadLetters`: its dead-letter places. */
  readonly consumer: NamedConsumer & { readonly deadLetters: readonly string[] }
  readonly consumers: readonly Pick<NamedConsumer, 'name'>[]
  readonly message: Named
  /** Another message came with the same ID and another payload. */
  readonly isConflict: boolean
}

export function adviceOf(record: Pick<RecordView, 'state' | 'reason' | 'attempt' | 'scope'>, given: Advised): Advice {
  const message: Named = { ...given.message, unscoped: record.scope === 'unknown' }
  const advised: Advised = { ...given, message }
  const { consumer, consumers, isConflict } = advised
  const ref = refOf(message)
  const run = (about: string, verb: string, rest: string): Advice['commands'][number] => ({
    about,
    text: command(verb, consumer, consumers, rest),
  })
  if (isConflict) {
    return {
      text: 'The record belongs to the first message. Do not forget it and do not run it again: that would not send the other one safely. Compare the two messages; if the other is meant, let its producer publish it again under an ID of its own.',
      commands: [],
    }
  }
  const decide = [
    run('Its effect happened', 'resolve', `--done --reason WHY ${ref}`),
    run('Its effect did not happen: it may run again', 'resolve', `--rerun --reason WHY ${ref}`),
  ]
  switch (record.state) {
    case 'parked':
      return {
        text: 'Find out whether its effect happened, for example at the provider. Then decide.',
        commands: decide,
      }
    case 'in-doubt':
      return {
        text: 'The next delivery follows onInDoubt. If none comes, find out whether its effect happened, then decide.',
        commands: decide,
      }
    case 'given-up': {
      const wrong = WHY_GIVEN_UP[record.reason ?? '']
      const replaced = run('Another message takes its place: it never runs', 'resolve', `--done --reason WHY ${ref}`)
      return {
        text: wrong ?? SPENT,
        commands: wrong === undefined ? redrives(advised) : [replaced, ...redrives(advised)],
      }
    }
    case 'done':
      return {
        text: 'Nothing needs to be done. If another message came with the same ID (a conflict), do not forget this record: let the producer publish that one under an ID of its own.',
        commands: [run('Lets its handler run AGAIN at the next delivery', 'forget', `--reason WHY ${ref}`)],
      }
    case 'released':
      if (record.attempt !== 0) return GOES_ON
      return {
        text: 'It runs at its next delivery. After it was reopened, none comes by itself: its copy is in the dead letters. Send that back.',
        commands: redrives(advised),
      }
    case 'processing':
      return GOES_ON
    case 'absent':
      return {
        text: 'Compare the ID with what the producer sent: capitals, spaces and each character count. If it is right, the message was not delivered to this consumer, or its retention is over. It runs when it is delivered. The dead letters may have it: a queue puts there what was too old for it.',
        commands: [],
      }
    case 'unreadable':
      return { text: 'The record is never changed. Update consume-once, then look again.', commands: [] }
  }
}

/** Shows the record. */
export function lookAt({ consumer, consumers, message }: Omit<Advised, 'isConflict'>): Advice['commands'][number] {
  return { about: 'Shows this record', text: command('inspect', consumer, consumers, refOf(message)) }
}

const GOES_ON: Advice = { text: 'Nothing needs to be done: it goes on by itself.', commands: [] }

const SPENT =
  'All its attempts failed. Mend the cause first, then send it back: a redrive reopens its record and publishes it where it came from.'

const UNUSABLE =
  'This consumer cannot read the message, and a redrive fails again until it can. If the message is wrong, publish a corrected one under a new ID, and mark this one as done.'

const WHY_GIVEN_UP: Readonly<Record<string, string>> = {
  'handler-failed':
    'Its handler refused it for good, so a redrive fails again unless the handler has changed. If the fault is in the message, such as a wrong number, publish a corrected one under a new ID, and mark this one as done.',
  undecodable: UNUSABLE,
  schema: UNUSABLE,
}

function redrives({ consumer, consumers, message }: Advised): Advice['commands'] {
  if (consumer.deadLetters.length === 0) {
    const text = command('reopen', consumer, consumers, `--reason WHY ${refOf(message)}`)
    return [{ about: 'Lets it run at its next delivery; then publish it again', text }]
  }
  const one = {
    about: 'Sends only this one back, after a question',
    text: command('redrive', consumer, consumers, `${redriveRefOf(message)} --reason WHY`),
  }
  return [
    one,
    {
      about: 'Shows what a redrive of all dead letters would do, and sends nothing',
      text: command('redrive', consumer, consumers, '--dry-run'),
    },
    {
      about: 'Sends all of them back, after a question',
      text: command('redrive', consumer, consumers, '--reason WHY'),
    },
  ]
}

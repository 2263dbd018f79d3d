// What a person can do about a message, with the commands for it. Pure.

import type { Advice, ConsumerInfo, MessageRecord } from '../../api.ts'
import { command, quoted, refOf, type Named } from '../../commands.ts'

interface Asked {
  readonly consumer: Pick<ConsumerInfo, 'id' | 'name' | 'deadLetters'>
  readonly consumers: readonly Pick<ConsumerInfo, 'name'>[]
  readonly message: Named
  /** Another message came with the same ID and another payload. */
  readonly isConflict: boolean
}

export function adviceOf(record: Pick<MessageRecord, 'state' | 'reason'>, asked: Asked): Advice {
  const { consumer, consumers, message, isConflict } = asked
  const ref = refOf(message)
  const run = (about: string, verb: string, rest: string): Advice['commands'][number] => ({
    about,
    text: command(verb, consumer, consumers, rest),
  })
  const look = run('Shows this record', 'inspect', ref)
  if (isConflict) {
    return {
      text: 'The record belongs to the first message. Do not forget it and do not run it again: that would not send the other one safely. Compare the two messages; if the other is meant, let its producer publish it again under an ID of its own.',
      commands: [look],
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
        commands: [...decide, look],
      }
    case 'in-doubt':
      return {
        text: 'The next delivery follows onInDoubt. If none comes, find out whether its effect happened, then decide.',
        commands: [...decide, look],
      }
    case 'given-up':
      return { text: WHY_GIVEN_UP[record.reason ?? ''] ?? SPENT, commands: [...redrives(asked), look] }
    case 'done':
      return {
        text: 'Nothing needs to be done.',
        commands: [look, run('Lets its effect happen AGAIN at the next delivery', 'forget', `--reason WHY ${ref}`)],
      }
    case 'processing':
    case 'released':
      return { text: 'Nothing needs to be done: it goes on by itself.', commands: [look] }
    case 'absent':
      return {
        text: 'Compare the ID with what the producer sent: capitals, spaces and each character count. If it is right, the message was not delivered to this consumer, or its retention is over. It runs when it is delivered.',
        commands: [look],
      }
    case 'unreadable':
      return { text: 'The record is never changed. Update consume-once, then look again.', commands: [look] }
  }
}

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

function redrives({ consumer, consumers, message }: Asked): Advice['commands'] {
  if (consumer.deadLetters.length === 0) return []
  const { id, key } = message
  const one =
    id === undefined
      ? {
          about:
            'Reopens only this one; then send its dead letter back. Found by its ID, it can be redriven in one step',
          text: command('reopen', consumer, consumers, `--reason WHY --key -- ${key}`),
        }
      : {
          about: 'Sends only this one back',
          text: `printf '%s\\n' ${quoted(id)} | ${command('redrive', consumer, consumers, '--ids-from - --reason WHY --yes')}`,
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

import type { RecordView } from './core/record.ts'

/** What a state means, and what a person does next; `consumer` is its name for a command. */
const MEANING: Readonly<Record<RecordView['state'], (consumer: string) => string>> = {
  parked: (consumer) =>
    `its effect may have happened, and no copy runs until a person decides. Find out, then: consume-once resolve ${consumer} <id> --done, or --rerun`,
  'given-up': (consumer) =>
    `it failed without an effect, and no copy runs. Mend the cause, then: consume-once redrive ${consumer} --dry-run`,
  'in-doubt': (consumer) =>
    `an attempt has no known end, so its effect may have happened. The next delivery follows onInDoubt; if none comes: consume-once resolve ${consumer} <id> --done, or --rerun`,
  processing: () => 'a process has it now. Look again when its lease is over',
  released: () => 'an attempt ended without an effect. It runs at its next delivery, and not before the time shown',
  done: (consumer) =>
    `its effect happened, and every copy is a duplicate. To let it happen AGAIN: consume-once forget ${consumer} <id>`,
  absent: () =>
    'no record: it was never claimed, or its retention is over, or the ID or --origin is another. It runs when it is delivered',
  unreadable: () => 'another program or a newer version wrote this record. It is never changed; update consume-once',
}

/** One line for each state among the records. */
export function meaningOf(records: readonly Pick<RecordView, 'state'>[], consumer: string): string {
  const states = new Set(records.map(({ state }) => state))
  return [...states].map((state) => `${state}: ${MEANING[state](consumer)}`).join('\n')
}

import type { RecordView } from '../core/record.ts'

/** What a state means, for people: the words of the command-line tool and of the dashboard. */
export const MEANING: Readonly<Record<RecordView['state'], string>> = {
  done: 'Its effect happened. Every further copy is stopped as a duplicate.',
  processing: 'A process has it now.',
  released: 'An attempt ended without an effect. It runs again at its next delivery.',
  'in-doubt': 'An attempt has no known end. Its effect may have happened.',
  parked: 'Its effect may have happened. No copy runs until a person decides.',
  'given-up': 'It failed without an effect, and no copy of it runs.',
  absent: 'This consumer has no record of it.',
  unreadable: 'Another program or a newer version wrote its record.',
}

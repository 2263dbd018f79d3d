import type { Key } from '../core/record.ts'
import type { Bucket } from '../core/replay.ts'
import type { EpochMs } from '../core/units.ts'

/** How a replay ended for one message. */
export const REPLAY_OUTCOMES = ['handled', 'done-before', 'failed', 'parked', 'left', 'skipped'] as const

/**
 * `handled`: its handler ran, its effect is marked. `done-before`: it was done, or somebody else did it meanwhile. `failed`: it was
 * given up again. `parked`: its effect may have happened. `left`: a person must look at it. `skipped`: not meant.
 */
export type ReplayOutcome = (typeof REPLAY_OUTCOMES)[number]

/** One line of a journal: one message of the plan. */
export interface JournalEntry {
  /** ID of the replay. */
  readonly replay: string
  readonly part: string
  readonly position: string
  readonly key?: Key | undefined
  readonly bucket: Bucket
  /** State of the record before. `not-asked`: the message was not selected, so nobody looked; `no-id`, `unreadable`: it has no key. */
  readonly before: string
  readonly outcome: ReplayOutcome
  readonly detail?: string | undefined
  readonly at: EpochMs
}

/** Written before a record is forgotten on purpose, so that a replay that is killed does not forget it twice. */
export interface JournalIntent {
  readonly replay: string
  readonly part: string
  readonly position: string
  readonly key: Key
  readonly intends: 'forget'
}

/** Where a replay writes what became of each message, a line each, in order. Each line is JSON. */
export interface ReplayJournal {
  /** For people: the path of the file. */
  readonly name: string
  /**
   * Opens the journal for writing, and returns its size and the lines after `from`. A last line that was cut off is removed.
   *
   * @throws ReplayError `REPLAY_REFUSED` if it is shorter: it is another one, or was lost
   */
  open(from: number): Promise<{ readonly bytes: number; readonly lines: readonly string[] }>
  /** Resolves when the lines are durable, with the size in bytes. */
  append(lines: readonly string[]): Promise<number>
  /** All lines, in order. */
  read(): AsyncIterable<string>
  close(): Promise<void>
}

/** A journal in memory, for tests. */
export function memoryJournal(): ReplayJournal {
  const lines: string[] = []
  const size = (): number => lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0)
  return {
    name: 'memory',
    open: async (from) => {
      let at = 0
      return { bytes: size(), lines: lines.filter((line) => (at += Buffer.byteLength(line) + 1) > from) }
    },
    append: async (added) => {
      lines.push(...added)
      return size()
    },
    read: async function* () {
      yield* lines
    },
    close: async () => {},
  }
}

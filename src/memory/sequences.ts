import type { Key, MessageRecord } from '../core/record.ts'
import type { EpochMs } from '../core/units.ts'
import { systemClock } from '../foundation/clock.ts'
import { knownOptions } from '../foundation/option-checks.ts'
import type { Clock } from '../ports/clock.ts'
import type { SequenceLedger, SourceSwap } from '../ports/sequence-ledger.ts'
import type { LeaseStore } from '../ports/store.ts'
import { resolveSequences, SEQUENCE_OPTIONS, splitSequences, type SequenceOptions } from '../sequences/options.ts'
import { sequencesOver } from '../sequences/store.ts'
import type { SourceKey } from '../ports/sequence-ledger.ts'
import { memoryStore, type MemoryStoreOptions } from './store.ts'

export interface MemorySequencesOptions extends MemoryStoreOptions, SequenceOptions {
  /** What is kept of each source. Give it together with `records`. @defaultValue a new Map */
  readonly sources?: Map<string, { readonly text: string; readonly keepUntil: EpochMs }>
}

const KNOWN: Record<keyof MemorySequencesOptions, true> = {
  ...SEQUENCE_OPTIONS,
  clock: true,
  records: true,
  sources: true,
}

/**
 * The reference of stores that keep a mark for each source (docs/sequences.md). For tests, demos and single processes
 * that may lose their records on exit.
 *
 * @throws ConfigError `CONFIG_INVALID`
 */
export function memorySequences(options: MemorySequencesOptions = {}): LeaseStore {
  const { sequences, others } = splitSequences(knownOptions(options, { of: 'memorySequences()', known: KNOWN }))
  const { clock = systemClock, records = new Map<Key, MessageRecord>(), sources = new Map() } = others
  const ledger = new MemoryLedger(clock, records, sources)
  const resolved = resolveSequences(sequences, 'memorySequences')
  return sequencesOver(memoryStore({ clock, records }), ledger, { ...resolved, name: 'memory-sequences' })
}

class MemoryLedger implements SequenceLedger {
  readonly sharesSources = true
  readonly #clock: Pick<Clock, 'now'>
  readonly #records: Map<Key, MessageRecord>
  readonly #sources: NonNullable<MemorySequencesOptions['sources']>

  constructor(
    clock: Pick<Clock, 'now'>,
    records: Map<Key, MessageRecord>,
    sources: NonNullable<MemorySequencesOptions['sources']>,
  ) {
    this.#clock = clock
    this.#records = records
    this.#sources = sources
  }

  async read(_scope: string, sources: readonly SourceKey[]): Promise<readonly (string | undefined)[]> {
    return sources.map((source) => this.#kept(source)?.text)
  }

  async swap(_scope: string, swaps: readonly SourceSwap[]): Promise<readonly boolean[]> {
    return swaps.map(({ source, from, to, keepMs, removed }) => {
      const kept = this.#kept(source)
      if (kept?.text !== from && kept?.text !== to) return false
      const keepUntil = Math.max(kept?.keepUntil ?? 0, this.#clock.now() + keepMs)
      this.#sources.set(source, { text: to, keepUntil })
      for (const key of removed) if (this.#records.get(key)?.state === 'done') this.#records.delete(key)
      return true
    })
  }

  #kept(source: SourceKey): { readonly text: string; readonly keepUntil: EpochMs } | undefined {
    const kept = this.#sources.get(source)
    if (kept === undefined || kept.keepUntil > this.#clock.now()) return kept
    this.#sources.delete(source)
    return undefined
  }
}

import type { Key, MessageRecord } from '../core/record.ts'
import type { EpochMs } from '../core/units.ts'
import { having, optionsOf, type Table } from '../foundation/options.ts'
import type { Clock } from '../ports/clock.ts'
import type { SequenceLedger, SourceSwap } from '../ports/sequence-ledger.ts'
import type { LeaseStore } from '../ports/store.ts'
import { SEQUENCES, type SequenceOptions } from '../sequences/options.ts'
import { sequencesOver } from '../sequences/store.ts'
import type { SourceKey } from '../ports/sequence-ledger.ts'
import { MEMORY_STORE, memoryStore, type MemoryStoreOptions } from './store.ts'

export interface MemorySequencesOptions extends MemoryStoreOptions, SequenceOptions {
  /** What is kept of each source. Give it together with `records`. @defaultValue a new Map */
  readonly sources?: Map<string, { readonly text: string; readonly keepUntil: EpochMs }>
}

const MEMORY_SEQUENCES: Table<MemorySequencesOptions, 'records' | 'sources'> = {
  ...SEQUENCES,
  ...MEMORY_STORE,
  sources: having('a Map', 'get', 'set'),
}

/**
 * The reference of stores that keep a mark for each source (docs/guards.md). For tests, demos and single processes
 * that may lose their records on exit.
 *
 * @throws ConfigError `CONFIG_INVALID`
 */
export function memorySequences(options: MemorySequencesOptions = {}): LeaseStore {
  const {
    clock,
    records = new Map<Key, MessageRecord>(),
    sources = new Map(),
    ...rest
  } = optionsOf('memorySequences', MEMORY_SEQUENCES, options)
  const ledger = new MemoryLedger(clock, records, sources)
  return sequencesOver(memoryStore({ clock, records }), ledger, { ...rest, name: 'memory-sequences' })
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

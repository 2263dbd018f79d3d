import { leftTail, readSource, sourceText, UNKNOWN_SOURCE, withDone, type SourceRecord } from '../core/sequence.ts'
import type { DurationMs } from '../core/units.ts'
import { StoreError } from '../foundation/errors.ts'
import type { SequenceLedger, SourceSwap } from '../ports/sequence-ledger.ts'
import type { SourceKey } from '../ports/sequence-ledger.ts'
import type { OpenTransaction } from '../ports/store.ts'
import { keyIn, type Numbered } from '../identity/sequence-key.ts'

/** A message that is done: it has a record, or had one. */
export interface DoneNumber extends Numbered {
  readonly keepMs: DurationMs
}

interface Flight {
  readonly scope: string
  readonly done: DoneNumber[]
  readonly landed: Promise<void>
}

/** Another process moved the source in between. In every round, one of them succeeds. */
const ROUNDS = 100

/** Sources whose last text is remembered, which saves a read before a swap. */
const TEXTS_KEPT = 10_000

/** Adds the numbers of done messages to their sources. Only one call at a time: those that come meanwhile share the next. */
export class Sources {
  readonly #ledger: SequenceLedger
  readonly #tail: number
  readonly #maxGaps: number
  readonly #texts = new Map<string, string | undefined>()
  #waiting: Flight[] = []
  #last: Promise<void> = Promise.resolve()

  constructor(ledger: SequenceLedger, { tail, maxGaps }: { readonly tail: number; readonly maxGaps: number }) {
    this.#ledger = ledger
    this.#tail = tail
    this.#maxGaps = maxGaps
  }

  /** Sources do not say of which scope they are. */
  get areShared(): boolean {
    return this.#ledger.sharesSources ?? false
  }

  /** The records of sources; `undefined`: unreadable. */
  async read(
    scope: string,
    sources: readonly SourceKey[],
    transaction?: OpenTransaction<unknown>,
  ): Promise<ReadonlyMap<SourceKey, SourceRecord | undefined>> {
    const distinct = [...new Set(sources)]
    if (distinct.length === 0) return new Map()
    const texts = await this.#ledger.read(scope, distinct, transaction)
    return new Map(distinct.map((source, at) => [source, recordIn(texts[at])]))
  }

  /**
   * Resolves when the sources know that these numbers are done. A source whose text is unreadable is left alone: its
   * messages keep their own records.
   */
  add(scope: string, done: readonly DoneNumber[]): Promise<void> {
    if (done.length === 0) return Promise.resolve()
    const waiting = this.#waiting.find((flight) => flight.scope === scope)
    if (waiting !== undefined) {
      waiting.done.push(...done)
      return waiting.landed
    }
    const numbers = [...done]
    const landed = this.#last.then(() => {
      this.#waiting = this.#waiting.filter((flight) => flight.done !== numbers)
      return this.#write(scope, numbers)
    })
    this.#waiting.push({ scope, done: numbers, landed })
    this.#last = landed.catch(() => {})
    return landed
  }

  async #write(scope: string, done: readonly DoneNumber[]): Promise<void> {
    let open = bySource(done)
    for (let round = 0; round < ROUNDS; round++) {
      const texts = await this.#textsOf(scope, [...open.keys()])
      const swaps = [...open].flatMap(([source, numbers]) => this.#swapOf(source, texts.get(source), numbers))
      const swapped = swaps.length === 0 ? [] : await this.#ledger.swap(scope, swaps)
      const refused = swaps.filter((_, at) => swapped[at] !== true)
      for (const { source, to } of swaps) this.#remember(scope, source, to)
      for (const { source } of refused) this.#texts.delete(placeOf(scope, source))
      if (refused.length === 0) return
      open = new Map(refused.map(({ source }) => [source, open.get(source) ?? []]))
    }
    throw new StoreError('STORE_AMBIGUOUS', `sequences: other processes changed a source ${ROUNDS} times in a row`)
  }

  async #textsOf(scope: string, sources: readonly SourceKey[]): Promise<ReadonlyMap<SourceKey, string | undefined>> {
    const known = new Map<SourceKey, string | undefined>()
    for (const source of sources) {
      const text = this.#texts.get(placeOf(scope, source))
      if (text !== undefined) known.set(source, text)
    }
    const asked = sources.filter((source) => !known.has(source))
    const texts = asked.length === 0 ? [] : await this.#ledger.read(scope, asked)
    for (const [at, source] of asked.entries()) known.set(source, texts[at])
    return known
  }

  #swapOf(source: SourceKey, from: string | undefined, done: readonly DoneNumber[]): SourceSwap[] {
    const before = recordIn(from)
    if (before === undefined) return []
    const added = done.map(({ number }) => number)
    const after = added.reduce((record, number) => withDone(record, number, this.#maxGaps), before)
    const left = leftTail(before, after, { added, tail: this.#tail })
    if (after === before && left.length === 0) return []
    const keepMs = Math.max(...done.map((one) => one.keepMs))
    return [{ source, from, to: sourceText(after), keepMs, removed: left.map((number) => keyIn(source, number)) }]
  }

  #remember(scope: string, source: SourceKey, text: string): void {
    if (this.#texts.size >= TEXTS_KEPT) this.#texts.clear()
    this.#texts.set(placeOf(scope, source), text)
  }
}

function recordIn(text: string | undefined): SourceRecord | undefined {
  return text === undefined ? UNKNOWN_SOURCE : readSource(text)
}

function bySource(done: readonly DoneNumber[]): ReadonlyMap<SourceKey, readonly DoneNumber[]> {
  const sources = new Map<SourceKey, DoneNumber[]>()
  for (const one of done) {
    const known = sources.get(one.source)
    if (known === undefined) sources.set(one.source, [one])
    else known.push(one)
  }
  return sources
}

function placeOf(scope: string, source: SourceKey): string {
  return `${source}${scope}`
}

import { ObservedTally, type ObservedExample, type ObservedReport, type ObservedVerdict } from '../../core/observed.ts'
import type { DurationMs } from '../../core/units.ts'
import type { ClaimAnswer } from '../../ports/store.ts'
import { observedScope } from '../../consumer/scope.ts'
import type { LateMark } from '../store/late-marks.ts'
import type { Services } from '../services.ts'

/** How often the report is written, while there is something new. */
const SAVE_EVERY_MS: DurationMs = 10_000
/** Nobody else writes the report of this process, so its hold need not last. */
const HOLD_MS: DurationMs = 60_000

/**
 * What the store answered in mode `observe`: told as events, counted in bounded memory, and written to the ledger of the
 * store every 10 s, one report for each start of a process. `consume-once report` reads and merges them.
 */
export class Observation {
  readonly #services: Services
  readonly #ledgerScope: string
  readonly #owner: string
  readonly #tally: ObservedTally
  /** Messages that would have run, not told yet: one event for a batch. */
  #fresh = 0
  #isTaken = false
  #isChanged = false
  #saving: Promise<void> | undefined
  #cancelSave: (() => void) | undefined

  constructor(services: Services, scope: string) {
    const { clock, entropy } = services
    this.#services = services
    this.#ledgerScope = observedScope(scope)
    this.#owner = entropy.ownerToken()
    this.#tally = new ObservedTally(clock.now())
  }

  answered({ key, place, at, isTold }: LateMark, answer: ClaimAnswer<unknown>): void {
    if (isTold === true) return
    const verdict = verdictOf(answer)
    if (verdict === 'run') this.#fresh++
    else this.found({ verdict, key, ...place, at, ...detailOf(answer, at) })
  }

  found(example: ObservedExample): void {
    this.#tally.addExample(example)
    this.#changed()
    if (this.#services.isHeard) {
      this.#services.observe({ type: 'observed', verdict: example.verdict, count: 1, example })
    }
  }

  lost(count: number): void {
    this.#count('unknown', count)
  }

  /** Tells the messages of a batch that would have run. */
  flush(): void {
    if (this.#fresh === 0) return
    this.#count('run', this.#fresh)
    this.#fresh = 0
  }

  /** Resolves when the report is written, or cannot be. Never rejects. */
  save(): Promise<void> {
    this.#cancelSave?.()
    this.#cancelSave = undefined
    if (!this.#isChanged || this.#services.store.isDown) return Promise.resolve()
    this.#saving ??= this.#save().finally(() => {
      this.#saving = undefined
    })
    return this.#saving
  }

  close(): void {
    this.#cancelSave?.()
    this.#cancelSave = undefined
  }

  #count(verdict: ObservedVerdict, count: number): void {
    this.#tally.add(verdict, count)
    this.#changed()
    if (this.#services.isHeard) this.#services.observe({ type: 'observed', verdict, count })
  }

  #changed(): void {
    this.#isChanged = true
    if (this.#cancelSave !== undefined || this.#services.isDraining) return
    this.#cancelSave = this.#services.clock.after(
      SAVE_EVERY_MS,
      () => {
        this.#cancelSave = undefined
        void this.save()
      },
      { background: true },
    )
  }

  async #save(): Promise<void> {
    const { consumer, clock } = this.#services
    const ledger = consumer.store.admin?.replays
    if (ledger === undefined) return
    this.#isChanged = false
    const how = { owner: this.#owner, ttlMs: HOLD_MS, state: JSON.stringify(this.#tally.report(clock.now())) }
    try {
      if (!this.#isTaken) await ledger.take(this.#ledgerScope, this.#owner, how)
      this.#isTaken = true
      await ledger.save(this.#ledgerScope, this.#owner, how)
    } catch {
      // The counts are kept, and written with the next ones.
      this.#isChanged = true
    }
  }
}

function verdictOf(answer: ClaimAnswer<unknown>): ObservedVerdict {
  switch (answer.verdict) {
    case 'claimed':
      return 'run'
    case 'done':
      return 'duplicate'
    case 'conflict':
    case 'busy':
    case 'in-doubt':
      return answer.verdict
    case 'taken-over':
      return 'in-doubt'
    case 'given-up':
    case 'parked':
    case 'unreadable':
      return 'dead-letter'
    case 'again-alone':
    case 'behind':
      throw new TypeError(`a verdict that no lease gives (observation.verdictOf): ${answer.verdict}`)
  }
}

function detailOf(answer: ClaimAnswer<unknown>, at: number): Pick<ObservedExample, 'ageMs' | 'reason'> {
  if (answer.verdict === 'done') return answer.since === undefined ? {} : { ageMs: Math.max(0, at - answer.since) }
  if (answer.verdict === 'given-up' || answer.verdict === 'parked') return { reason: answer.reason }
  return answer.verdict === 'unreadable' ? { reason: 'record-unreadable' } : {}
}

/** The report that a process wrote; `undefined`: a version of the library that this one cannot read wrote it. */
export function readReport(state: string): ObservedReport | undefined {
  try {
    const report = JSON.parse(state) as Partial<ObservedReport>
    const { since, until, counts, examples } = report
    const isReport = typeof since === 'number' && typeof until === 'number' && typeof counts === 'object'
    return isReport && Array.isArray(examples) ? (report as ObservedReport) : undefined
  } catch {
    return undefined
  }
}
